import type { JsonObject } from "@envport/wire";
import { ErrorCode, ProtocolError, isJsonObject } from "@envport/wire";
import { evaluationFrame } from "./_evaluation_frame.ts";
import { checkJson } from "./_json_value.ts";
import { receiveAnswer } from "./_receive_answer.ts";
import { within } from "./_within.ts";
import type { LogLevel, Logger } from "./logger.ts";
import type { TaskContext, Template } from "./template.ts";

/** What a runner needs from its server. */
export interface TaskRunnerOptions {
  sessionId: string;
  /** How long a task may ignore its signal, and how long its hooks may take then, in milliseconds (TASK-8). */
  cancelGrace: number;
  /** Runs at the end of a task whose code has begun, however it comes (TASK-6). */
  onEnd(this: void): Promise<void>;
  /** Called once nothing more will happen. */
  onOver(this: void): void;
  /** Receives what `ctx.progress` is given. */
  onProgress(this: void, message: string, fraction: number | undefined): void;
  logger: Logger;
}

/** Why a task is cancelled. */
export type CancelReason = "cancelled" | "expired" | "shutdown";

/**
 * One task between its start and its end: an async generator, suspended at its first yield.
 *
 * ```text
 * starting ──▶ waiting ──▶ grading ──▶ over
 *     └───────────┴───────────┴── cancel(), a throw, a time-out ──▶ over
 * ```
 *
 * Clean-up (the generator's `finally`, then the task-end hooks) runs exactly once, before whatever reports the end.
 */
export class TaskRunner {
  /** The session that started the task. */
  readonly sessionId: string;
  readonly #template: Template;
  readonly #options: TaskRunnerOptions;
  readonly #controller = new AbortController();
  readonly #over = new AbortController();
  #generator: AsyncGenerator<unknown, unknown, unknown> | undefined;
  #started: Promise<JsonObject> | undefined;
  #graded: Promise<JsonObject> | undefined;
  #ended: Promise<void> | undefined;
  #gradeParams: JsonObject = {};
  /** Resolves when an aborted task has used up its grace. */
  readonly #abandoned: Promise<void>;
  #abandon!: () => void;

  /**
   * @param template What to run.
   * @param options What it needs.
   */
  constructor(template: Template, options: TaskRunnerOptions) {
    this.sessionId = options.sessionId;
    this.#template = template;
    this.#options = options;
    this.#abandoned = new Promise((resolve) => (this.#abandon = resolve));
  }

  /**
   * Runs the task to its first yield (TASK-2).
   *
   * @param args What the client sent.
   * @returns The prompt frame.
   * @throws {ProtocolError} If the args do not validate, or the task was cancelled or ran out of time.
   * @throws Whatever the task throws.
   */
  start(args: JsonObject): Promise<JsonObject> {
    const { id, timeouts } = this.#template;
    this.#started = this.#call(timeouts.startMs, async () => {
      const parsed = await this.#template.args.parse(args, id);
      this.#controller.signal.throwIfAborted();
      this.#generator = this.#run(parsed);
      const { value, done } = await this.#generator.next(undefined);
      if (done) throw new ProtocolError(ErrorCode.serverError, `task '${id}' yielded no prompt`);
      const frame = isJsonObject(value) && Object.hasOwn(value, "prompt") ? value : { prompt: value ?? null };
      return checkJson(frame, `the prompt of task '${id}'`);
    });
    return this.#started;
  }

  #run(args: unknown): AsyncGenerator<unknown, unknown, unknown> {
    // A plain function may return anything.
    const generator = this.#template.task(args, this.#context()) as Partial<AsyncGenerator> | undefined;
    if (typeof generator?.next === "function" && typeof generator.return === "function") {
      return generator as AsyncGenerator;
    }
    throw new TypeError(
      `task '${this.#template.id}' returned no async generator: declare it as async function*`,
    );
  }

  /**
   * Sends the answer in and runs the task to its end (TASK-4 to TASK-6).
   *
   * @param params The params of `tasks.grade`.
   * @returns The evaluation frame.
   * @throws {ProtocolError} If the task was cancelled or ran out of time.
   * @throws Whatever the task throws, and a TypeError for what is no evaluation.
   */
  grade(params: JsonObject): Promise<JsonObject> {
    const { id, returns, timeouts } = this.#template;
    const { answer, ...others } = params;
    this.#gradeParams = others;
    this.#graded = this.#call(timeouts.gradeMs, async () => {
      const received = await receiveAnswer(returns, params);
      this.#controller.signal.throwIfAborted();
      const { value, done } = await this.#generator!.next(received);
      const frame = evaluationFrame(done ? 0 : value, id);
      checkJson(frame, `the evaluation of task '${id}'`);
      await this.#end();
      return frame;
    });
    return this.#graded;
  }

  /**
   * Ends the task (TASK-8): aborts its signal, gives it `cancelGrace` to react, and runs the clean-up. It never rejects.
   *
   * @param reason What a pending call fails with.
   */
  async cancel(reason: CancelReason): Promise<void> {
    this.#abort(cancelledError(reason));
    await Promise.allSettled([this.#started, this.#graded]);
    await this.#end();
  }

  /** Runs a part of the task within its time; a failure of any kind ends the task. */
  async #call(timeoutMs: number | undefined, part: () => Promise<JsonObject>): Promise<JsonObject> {
    const { signal } = this.#controller;
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(() => this.#abort(timeoutError(timeoutMs)), timeoutMs);
    try {
      signal.throwIfAborted();
      const running = part();
      await this.#settled(running, (error) => {
        if (signal.aborted) this.#log("debug", "a task failed while it was being cancelled", { error });
      });
      signal.throwIfAborted();
      return await running;
    } catch (error) {
      await this.#end();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #abort(reason: ProtocolError): void {
    if (this.#controller.signal.aborted || this.#over.signal.aborted) return;
    this.#controller.abort(reason);
    const { cancelGrace } = this.#options;
    const timer = setTimeout(() => {
      this.#log("warn", "a task ignored its signal and was abandoned", { graceMs: cancelGrace });
      this.#abandon();
    }, cancelGrace);
    this.#over.signal.addEventListener("abort", () => {
      clearTimeout(timer);
    });
  }

  /** Ends the generator and runs the hooks, once. */
  #end(): Promise<void> {
    return (this.#ended ??= this.#cleanUp());
  }

  async #cleanUp(): Promise<void> {
    if (this.#generator) {
      // A generator that is running takes its return only when it comes to rest.
      const generator = this.#generator;
      await this.#settled((async () => await generator.return(undefined))(), (error) =>
        this.#log("error", "the clean-up of a task failed", { error }),
      );
      await this.#runHooks();
    }
    this.#over.abort(new DOMException("The task is over", "AbortError"));
    this.#options.onOver();
  }

  /** Hooks belong to the environment, not to the task: they have a grace of their own. */
  async #runHooks(): Promise<void> {
    const { signal } = this.#controller;
    const hooks = this.#options.onEnd();
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([hooks, aborted]);
    if (signal.aborted && !(await within(hooks, this.#options.cancelGrace))) {
      this.#log("warn", "a task-end hook took too long and was abandoned", {
        graceMs: this.#options.cancelGrace,
      });
    }
  }

  /** Waits until work has settled, but not longer than the grace that an abort leaves it. It never rejects. */
  async #settled(work: Promise<unknown>, onError: (error: unknown) => void): Promise<void> {
    await Promise.race([work.then(() => {}, onError), this.#abandoned]);
  }

  #log(level: LogLevel, message: string, fields: Record<string, unknown>): void {
    const facts = { task: this.#template.id, session: this.sessionId, ...fields };
    this.#options.logger.log(level, message, facts);
  }

  #context(): TaskContext {
    const params = (): JsonObject => this.#gradeParams;
    return {
      signal: AbortSignal.any([this.#controller.signal, this.#over.signal]),
      sessionId: this.sessionId,
      get grade() {
        return params();
      },
      progress: (message, fraction) => {
        if (!this.#over.signal.aborted)
          this.#options.onProgress(message, Number.isFinite(fraction) ? fraction : undefined);
      },
    };
  }
}

/**
 * What a call fails with whose task was cancelled.
 *
 * @param reason Why it was.
 */
export function cancelledError(reason: CancelReason): ProtocolError {
  return new ProtocolError(ErrorCode.serverError, CANCELLED[reason], { type: "cancelled" });
}

const CANCELLED: Record<CancelReason, string> = {
  cancelled: "the task was cancelled",
  expired: "the task was cancelled as its session was parked for too long",
  shutdown: "the task was cancelled as the server stops",
};

function timeoutError(milliseconds: number): ProtocolError {
  const message = `the task took longer than ${String(milliseconds)} ms`;
  return new ProtocolError(ErrorCode.serverError, message, { type: "timeout" });
}
