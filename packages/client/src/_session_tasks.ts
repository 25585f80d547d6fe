import type { AbortOptions, JsonObject } from "@envport/wire";
import { EnvportError, ProtocolError, isJsonObject, own } from "@envport/wire";
import { abortable } from "./_abortable.ts";
import type { Call, ControlConnection } from "./_control_connection.ts";
import type { EvaluationResult, GradeOptions, TaskInfo } from "./task.ts";
import { Task } from "./task.ts";

/**
 * The tasks of one session. It knows what a grade would be about, since a server lets a session without a task of its own
 * grade somebody else's (SESS-5): that happens only on request (SESS-6).
 *
 * ```text
 * none ── start succeeds ──▶ held ── start is sent, cancel, a grade fails ──▶ none
 *                             └───── a grade succeeds, and the server does not replay it ──▶ none
 * ```
 *
 * A lost connection changes nothing: the session is resumed by its id, with the task or its result, or not at all.
 */
export class SessionTasks {
  readonly #connection: () => ControlConnection;
  /** What the session holds: the {@linkcode Task} that this client started, or something that an earlier one did. */
  #held: object | undefined;

  /**
   * @param connection The connection of now.
   * @param resumed Whether the session holds a task that an earlier client started.
   */
  constructor(connection: () => ControlConnection, resumed: boolean) {
    this.#connection = connection;
    this.#held = resumed ? {} : undefined;
  }

  async list({ signal }: AbortOptions): Promise<TaskInfo[]> {
    const { tasks } = await this.#connection().inTurn((call) => call("tasks.list", {}), { signal });
    if (!Array.isArray(tasks)) throw violation("tasks.list", "'tasks' must be an array");
    return tasks.map(readTaskInfo);
  }

  async start(id: string, args: JsonObject, { signal }: AbortOptions): Promise<Task> {
    return await this.#runTask(signal, async (call) => {
      const before = this.#held;
      this.#held = undefined;
      try {
        const frame = await call("tasks.start", { id, args });
        const task: Task = Task.create(
          id,
          frame,
          (answer, options) => this.grade(answer, options, task),
          (options) => this.#cancelOnly(task, options),
        );
        this.#held = task;
        return task;
      } catch (error) {
        if (!wasSent(error)) this.#held = before;
        throw error;
      }
    });
  }

  async grade(
    answer: unknown,
    options: GradeOptions & { adopt?: boolean },
    task?: Task,
  ): Promise<EvaluationResult> {
    const params = { ...options.params, ...(answer === undefined ? {} : { answer }) };
    const evaluation = await this.#runTask(options.signal, async (call, { manifest }) => {
      const held = this.#held;
      if (task !== undefined && task !== held) throw over(task);
      if (held === undefined && !options.adopt) throw noTask();
      try {
        const result = await call("tasks.grade", params);
        if (own(manifest.capabilities, "replay") !== true) this.#release(held);
        return result;
      } catch (error) {
        if (error instanceof ProtocolError) this.#release(held);
        throw error;
      }
    });
    if (Number.isFinite(evaluation["score"])) return evaluation as EvaluationResult;
    throw violation("tasks.grade", "'score' must be a finite number");
  }

  async cancel({ signal }: AbortOptions): Promise<void> {
    signal?.throwIfAborted();
    await abortable(this.#tellCancel(this.#connection(), { waiting: true }), signal);
    // Those whose calls were cancelled hear of it first (CLI-5).
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** A task that is over needs no cancel, and the one that replaced it must not get it. */
  async #cancelOnly(task: Task, options: AbortOptions): Promise<void> {
    if (this.#held === task) await this.cancel(options);
  }

  async #tellCancel(connection: ControlConnection, options: { waiting: boolean }): Promise<void> {
    try {
      await connection.cancelTask(options);
    } finally {
      this.#held = undefined;
    }
  }

  /** Makes a call that runs code of the task; an abort tells the environment if the call has been sent. */
  async #runTask<T>(
    signal: AbortSignal | undefined,
    work: (call: Call, connection: ControlConnection) => Promise<T>,
  ): Promise<T> {
    const connection = this.#connection();
    const onAbort = (): void => {
      this.#tellCancel(connection, { waiting: false }).catch(() => {
        // The connection is gone; the session is parked.
      });
    };
    return await connection.inTurn((call) => work(call, connection), { signal, onAbort, dismissable: true });
  }

  #release(held: object | undefined): void {
    if (this.#held === held) this.#held = undefined;
  }
}

/** Whether the environment may have seen a call that failed. */
function wasSent(error: unknown): boolean {
  return (
    error instanceof ProtocolError || (error instanceof EnvportError && error.code !== "frame-too-large")
  );
}

function readTaskInfo(task: unknown): TaskInfo {
  if (!isJsonObject(task) || typeof own(task, "id") !== "string") {
    throw violation("tasks.list", "each task must be an object with an 'id'");
  }
  return { description: "", args: {}, ...task } as unknown as TaskInfo;
}

function noTask(): EnvportError {
  return new EnvportError(
    "no-task",
    "Cannot grade as this session holds no task: start one, connect with the sessionId of one that does, or pass adopt: true",
  );
}

function over({ id }: Task): EnvportError {
  return new EnvportError(
    "no-task",
    `Cannot grade task '${id}' as it is over: it was graded, cancelled or replaced`,
  );
}

function violation(method: string, rule: string): EnvportError {
  return new EnvportError("protocol-violation", `Cannot use the result of ${method} as ${rule}`);
}
