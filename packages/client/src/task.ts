import type { AbortOptions, JsonObject } from "@envport/wire";

/** What `tasks.list` says of a task. */
export interface TaskInfo {
  id: string;
  /** Empty if the environment gives none. */
  description: string;
  /** JSON Schema of the arguments, an object schema. */
  args: JsonObject;
  /** JSON Schema of what the agent is given, where the environment declares it. */
  input?: JsonObject;
  /** JSON Schema of the answer, where the environment declares it. */
  returns?: JsonObject;
}

/** What a grade returns: the score, and whatever else the environment says about it. */
export interface EvaluationResult {
  /** Finite; usually 0 to 1. */
  score: number;
  /** For example `content`, `info`, `subscores`. */
  [key: string]: unknown;
}

/** Options of a grade. */
export interface GradeOptions extends AbortOptions {
  /** Further members of the grading call; the task reads them as `ctx.grade`. */
  params?: JsonObject | undefined;
}

/**
 * A task that has been started and waits for its answer; it stays usable when its client resumes the session.
 *
 * @example
 * ```ts
 * import { connect } from "@envport/client";
 * import { Environment, serve } from "@envport/server";
 * import assert from "node:assert/strict";
 *
 * const env = new Environment({ name: "sums" });
 * env.template("add").run(async function* () {
 *   yield (yield "What is 1 + 1?") === "2" ? 1 : 0;
 * });
 * await using server = await serve(env);
 *
 * await using client = await connect(server.url);
 * const task = await client.start("add");
 * assert.equal(task.promptText, "What is 1 + 1?");
 * assert.deepEqual(await task.grade("2"), { score: 1 });
 * ```
 */
export class Task {
  /** What it was started by. */
  readonly id: string;
  /** The prompt as the environment gave it: usually a string. */
  readonly prompt: unknown;
  /** The whole reply to the start: `prompt` and whatever else the environment put beside it. */
  readonly frame: JsonObject;
  readonly #grade: (answer: unknown, options: GradeOptions) => Promise<EvaluationResult>;
  readonly #cancel: (options: AbortOptions) => Promise<void>;

  private constructor(
    id: string,
    frame: JsonObject,
    grade: (answer: unknown, options: GradeOptions) => Promise<EvaluationResult>,
    cancel: (options: AbortOptions) => Promise<void>,
  ) {
    this.id = id;
    this.frame = frame;
    this.prompt = frame["prompt"];
    this.#grade = grade;
    this.#cancel = cancel;
  }

  /** @internal */
  static create(
    id: string,
    frame: JsonObject,
    grade: (answer: unknown, options: GradeOptions) => Promise<EvaluationResult>,
    cancel: (options: AbortOptions) => Promise<void>,
  ): Task {
    return new Task(id, frame, grade, cancel);
  }

  /** The prompt as text: itself if it is a string, else its JSON. */
  get promptText(): string {
    return typeof this.prompt === "string" ? this.prompt : JSON.stringify(this.prompt ?? null);
  }

  /**
   * Sends the answer in; the task is over afterwards. Grading it again returns the same evaluation where the environment
   * keeps it (`replay`), and runs nothing twice.
   *
   * @param answer A string, or any JSON value that the task expects; undefined for none.
   * @param options A signal that cancels the grade, and further members of the call.
   * @throws {ProtocolError} If the task throws, or the environment no longer has it.
   * @throws {EnvportError} If the task was cancelled or replaced by another start (`no-task`), or the connection was lost
   *   (`connection-lost`): `client.resume()` and grade again.
   * @throws {TypeError} If the answer holds what JSON cannot say.
   */
  grade(answer?: unknown, options: GradeOptions = {}): Promise<EvaluationResult> {
    return this.#grade(answer, options);
  }

  /**
   * Gives the task up; its clean-up has run when this resolves. A task that is over is left alone.
   *
   * @param options A signal that gives up waiting.
   */
  cancel(options: AbortOptions = {}): Promise<void> {
    return this.#cancel(options);
  }
}
