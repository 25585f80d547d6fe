import type { JsonObject } from "@envport/wire";
import { checkNumber } from "./_limits.ts";
import { jsonSchema } from "./_schema.ts";
import { TaskArgs } from "./_task_args.ts";
import { MAX_TIMER_MS } from "./_within.ts";
import type { Answer } from "./answer.ts";
import type { Schema, SchemaOutput } from "./schema.ts";

/** Bounds of one task (TASK-9). A call that takes longer fails with `timeout`; it never scores 0. */
export interface TaskTimeouts {
  /**
   * For the code before the first `yield`, in milliseconds.
   *
   * @default no bound
   */
  startMs?: number | undefined;
  /**
   * For the code between the first and the second `yield`, clean-up included, in milliseconds.
   *
   * @default no bound
   */
  gradeMs?: number | undefined;
}

/**
 * How a task is described.
 *
 * @typeParam A The schema of the arguments.
 * @typeParam R The schema of the answer.
 */
export interface TemplateOptions<A extends Schema | undefined, R extends Schema | undefined> {
  /** What a reader of the task list is told. */
  description?: string | undefined;
  /** The arguments; a task without it takes none. */
  args?: A | undefined;
  /** The type of the answer; published, and parsed for the task. */
  returns?: R | undefined;
  /** The type of what the agent is given; published only. */
  input?: Schema | undefined;
  timeouts?: TaskTimeouts | undefined;
}

/** What a task can ask about itself while it runs. */
export interface TaskContext {
  /** Aborts when the task is cancelled, runs out of time or is over; pass it to everything that may take long. */
  readonly signal: AbortSignal;
  /** The session that started the task. */
  readonly sessionId: string;
  /** Members of the grading call besides `answer`; empty before the grade (TASK-4). */
  readonly grade: JsonObject;
  /**
   * Tells a client that asked for it how far the task is (TASK-10).
   *
   * @param message What is being done.
   * @param fraction 0 to 1, if it is known.
   */
  progress(message: string, fraction?: number): void;
}

/**
 * A task: it prepares what it needs, yields the prompt, gets the answer back, and yields the evaluation. Its `finally`
 * runs however it ends.
 *
 * @typeParam Args The validated arguments.
 * @typeParam Received What the first `yield` returns.
 */
export type TaskFunction<Args, Received> = (
  args: Args,
  context: TaskContext,
) => AsyncGenerator<unknown, unknown, Received>;

/** The arguments that a task function gets. */
export type ArgsOf<A extends Schema | undefined> = A extends Schema ? SchemaOutput<A> : Record<string, never>;

/** What a task's first `yield` returns. */
export type ReceivedOf<R extends Schema | undefined> = R extends Schema
  ? Answer<SchemaOutput<R>>
  : string | undefined;

/** A described task that still lacks its function; two steps, since TypeScript then infers both of its types. */
export interface TemplateBuilder<Args, Received> {
  /**
   * Gives the task its function.
   *
   * @param task An async generator function.
   * @throws {TypeError} If it is none, the id is taken, or a schema cannot be published.
   * @throws {RangeError} If a time-out makes no sense.
   */
  run(task: TaskFunction<Args, Received>): Template;
}

/**
 * A registered task: what `tasks.list` says of it, and how it is run. {@linkcode TemplateBuilder.run} makes one.
 *
 * @example
 * ```ts
 * import { Environment } from "@envport/server";
 * import assert from "node:assert/strict";
 *
 * const env = new Environment();
 * const template = env.template("capital", { description: "Geography" }).run(async function* () {
 *   const answer = yield "What is the capital of Norway?";
 *   yield answer === "Oslo";
 * });
 * assert.equal(env.templates.get("capital"), template);
 * ```
 */
export class Template {
  /** What clients start it by. */
  readonly id: string;
  readonly timeouts: TaskTimeouts;
  /** @internal */
  readonly args: TaskArgs;
  /** @internal */
  readonly returns: Schema | undefined;
  /** @internal */
  readonly task: TaskFunction<unknown, unknown>;
  readonly #entry: JsonObject;

  /** @internal */
  constructor(
    id: string,
    options: TemplateOptions<Schema | undefined, Schema | undefined>,
    task: TaskFunction<never, never>,
  ) {
    const kind = Object.prototype.toString.call(task);
    if (kind !== "[object AsyncGeneratorFunction]" && kind !== "[object Function]") {
      throw new TypeError(
        `Cannot register task '${id}' as it must be an async generator function (async function*): current value is ${kind}`,
      );
    }
    const { description = "", args, returns, input, timeouts = {} } = options;
    for (const name of ["startMs", "gradeMs"] as const) {
      checkNumber(`timeouts.${name} of task '${id}'`, timeouts[name] ?? 0, MAX_TIMER_MS);
    }
    this.id = id;
    this.timeouts = timeouts;
    this.args = new TaskArgs(args, `the args of task '${id}'`);
    this.returns = returns;
    this.task = task as TaskFunction<unknown, unknown>;
    this.#entry = {
      id,
      description,
      args: this.args.published,
      ...(input ? { input: jsonSchema(input, `the input of task '${id}'`) } : {}),
      ...(returns ? { returns: jsonSchema(returns, `the answer of task '${id}'`) } : {}),
    };
  }

  /** The task's entry in `tasks.list` (TASK-1). */
  toEntry(): JsonObject {
    return this.#entry;
  }
}
