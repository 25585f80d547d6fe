import type { AbortOptions, JsonObject } from "@envport/wire";

/** What `tasks.list` says of a task. */
export interface TaskInfo {
  id: string;
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

/** A task that has been started and waits for its answer. */
export class Task {
  /** What it was started by. */
  readonly id: string;
  /** The prompt as the environment gave it: usually a string. */
  readonly prompt: unknown;
  /** The whole reply to the start: `prompt` and whatever else the environment put beside it. */
  readonly frame: JsonObject;
  readonly #grade: (answer: unknown, options: GradeOptions) => Promise<EvaluationResult>;
  readonly #cancel: (options: AbortOptions) => Promise<void>;

  /** @internal */
  constructor(
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

  /** The prompt as text: itself if it is a string, else its JSON. */
  get promptText(): string {
    return typeof this.prompt === "string" ? this.prompt : JSON.stringify(this.prompt);
  }

  /**
   * Sends the answer in; the task is over afterwards.
   *
   * @param answer A string, or any JSON value that the task expects.
   * @param options A signal that cancels the grade, and further members of the call.
   * @throws {ProtocolError} If the task throws, or is no longer in progress.
   * @throws {EnvportError} If the connection was lost (`connection-lost`): `client.resume()` and grade again, and the
   *   environment answers with the same evaluation.
   */
  grade(answer?: unknown, options: GradeOptions = {}): Promise<EvaluationResult> {
    return this.#grade(answer, options);
  }

  /**
   * Gives the task up; its clean-up has run when this resolves.
   *
   * @param options A signal that gives up waiting.
   */
  cancel(options: AbortOptions = {}): Promise<void> {
    return this.#cancel(options);
  }
}
