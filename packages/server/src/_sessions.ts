import { randomBytes } from "node:crypto";
import type { JsonObject, RpcContext } from "@envport/wire";
import { ErrorCode, ProtocolError } from "@envport/wire";
import type { SessionTableLimits, TableConnection, Session as TableSession } from "./_session_table.ts";
import { SessionTable } from "./_session_table.ts";
import { TaskRunner, cancelledError } from "./_task_runner.ts";
import { MAX_TIMER_MS } from "./_within.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";
import type { Template } from "./template.ts";

/** A connection that speaks for a session. */
export interface SessionConnection extends TableConnection {
  /** Closes it: its session was taken over. */
  displace(): void;
  /** Passes on what a task reports. */
  progress(message: string, fraction: number | undefined): void;
}

/** A session of this server. */
export type Session = TableSession<SessionConnection, TaskRunner>;

/** Options of {@linkcode Sessions}. */
export interface SessionsOptions extends SessionTableLimits {
  cancelGrace: number;
  logger: Logger;
}

/** A start or grade, as its connection hands it on. */
export interface SessionCall {
  params: JsonObject;
  /** Who gets the reply. */
  connection: SessionConnection;
  /** Told whether the reply arrived. */
  context: RpcContext;
  /** Aborts when the call is cancelled. */
  signal: AbortSignal;
}

/** The sessions of one server and the tasks that they run: the session table with a clock, timers and task runners. */
export class Sessions {
  readonly #env: Environment;
  readonly #options: SessionsOptions;
  readonly #table: SessionTable<SessionConnection, TaskRunner>;
  /** Every task that is not over, also one that no session has any more and whose clean-up is still running. */
  readonly #runners = new Set<TaskRunner>();
  /** Which session a task belongs to now: another than the one that started it, after an adoption. */
  readonly #holders = new WeakMap<TaskRunner, Session>();
  /** Resolves when the last call of a session is over. */
  readonly #turns = new WeakMap<Session, Promise<unknown>>();
  /** Resolves when the tasks that a session has lost are cleaned up. */
  readonly #cleanUps = new WeakMap<Session, Promise<unknown>>();
  readonly #waiting = new Set<() => void>();
  #expiryTimer: NodeJS.Timeout | undefined;
  /** What the timer waits for. */
  #timerExpiry = Infinity;
  #stopping = false;

  /**
   * @param env Where the tasks are registered.
   * @param options Limits and the log.
   */
  constructor(env: Environment, options: SessionsOptions) {
    this.#env = env;
    this.#options = options;
    this.#table = new SessionTable(options);
  }

  /** How many sessions have a connection, and how many wait for one. */
  get counts(): { live: number; parked: number } {
    return { live: this.#table.liveCount, parked: this.#table.parkedCount };
  }

  /** Begins a session with 128 random bits as its id (SESS-3), for the holder of a token (SESS-10). */
  open(connection: SessionConnection, holder: string): Session {
    return this.#table.open(`sess-${randomBytes(16).toString("hex")}`, connection, holder);
  }

  /** Parks or forgets a session whose connection is gone (SESS-4). */
  drop(session: Session): void {
    this.#table.drop(session, performance.now());
    this.#changed();
  }

  /** Makes a connection speak for another session (SESS-2, SESS-8). */
  resume(own: Session, id: string, takeover: boolean): Session {
    const { session, displaced } = this.#table.resume(own, id, takeover, performance.now());
    displaced?.displace();
    this.#changed();
    return session;
  }

  /**
   * Starts a task in place of the session's earlier one (TASK-2).
   *
   * @param session The session.
   * @param id The task.
   * @param args Its arguments.
   * @param call What asks for it.
   * @throws {ProtocolError} If the task is unknown, or whatever the start throws.
   */
  start(session: Session, id: string, args: JsonObject, call: SessionCall): Promise<JsonObject> {
    return this.#inTurn(session, async () => {
      this.#check(session, call);
      const cleanedUp = this.cancel(session);
      session.result = undefined;
      const template = this.#env.templates.get(id);
      const runner = template && this.#begin(session, template);
      await cleanedUp;
      if (!runner) {
        throw new ProtocolError(ErrorCode.invalidParams, `unknown task: '${id}'`, { type: "unknown-task" });
      }
      return await this.#untilFailure(session, runner, runner.start(args));
    });
  }

  #begin(session: Session, template: Template): TaskRunner {
    const runner: TaskRunner = new TaskRunner(template, {
      sessionId: session.id,
      cancelGrace: this.#options.cancelGrace,
      logger: this.#options.logger,
      onEnd: () => this.#runTaskEndHooks(session.id),
      onOver: () => this.#runners.delete(runner),
      onProgress: (message, fraction) => this.#holders.get(runner)?.connection?.progress(message, fraction),
    });
    this.#runners.add(runner);
    this.#holders.set(runner, session);
    session.runner = runner;
    return runner;
  }

  /**
   * Grades a task, or hands out a result that is there already (SESS-5, SESS-6).
   *
   * @param own The session that asks.
   * @param call What it asks.
   */
  grade(own: Session, call: SessionCall): Promise<JsonObject> {
    return this.#inTurn(own, async () => {
      for (;;) {
        this.#check(own, call);
        const claim = this.#table.claim(own, performance.now());
        if (claim === "task") await this.#evaluate(own, own.runner!, call.params);
        if (claim !== "undecided") return this.#send(own, call.context);
        await this.#change(call.signal);
      }
    });
  }

  /** Who is gone, or has lost the session to somebody else, begins nothing any more. */
  #check(session: Session, { connection, signal }: SessionCall): void {
    if (this.#stopping) throw cancelledError("shutdown");
    if (signal.aborted || session.connection !== connection) throw cancelledError("cancelled");
  }

  async #evaluate(session: Session, runner: TaskRunner, params: JsonObject): Promise<void> {
    this.#holders.set(runner, session);
    if (runner.sessionId === session.id) session.graded = true;
    const evaluation = await this.#untilFailure(session, runner, runner.grade(params));
    this.#table.store(session, evaluation, performance.now());
  }

  /** Lets the reply carry the stored result, and notes whether it arrives. */
  #send(session: Session, context: RpcContext): JsonObject {
    const result = this.#table.send(session);
    context.onSent((delivered) => {
      this.#table.sent(session, result, delivered, performance.now());
      this.#changed();
    });
    return result.evaluation;
  }

  /** Cancels a session's task (TASK-8); resolves when its clean-up, and that of earlier ones, has run. */
  async cancel(session: Session): Promise<void> {
    const { runner } = session;
    if (runner) {
      this.#forget(session, runner);
      this.#cleanUps.set(session, Promise.all([this.#cleanUps.get(session), runner.cancel("cancelled")]));
    }
    await this.#cleanUps.get(session);
  }

  /** Cancels a session's task and ends the session for good (SESS-4). */
  async end(session: Session): Promise<void> {
    await this.cancel(session);
    this.#table.remove(session);
    this.#changed();
  }

  /** Cancels every task and starts no more (TASK-11); resolves when all clean-up has run. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#changed();
    await Promise.all(
      [...this.#runners].map(async (runner) => {
        await runner.cancel("shutdown");
        this.#forget(this.#holders.get(runner)!, runner);
      }),
    );
  }

  /** Executes a call once the session's earlier ones are over: it may have changed hands while one is running. */
  async #inTurn<T>(session: Session, call: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(session);
    const turn = (async () => {
      await before;
      return await call();
    })();
    this.#turns.set(session, Promise.allSettled([turn]));
    session.calls++;
    try {
      return await turn;
    } finally {
      session.calls--;
      this.#table.settle(session, performance.now());
      this.#changed();
    }
  }

  /** Waits for a part of a task; a session whose task has failed has none any more (TASK-7). */
  async #untilFailure(session: Session, runner: TaskRunner, part: Promise<JsonObject>): Promise<JsonObject> {
    try {
      return await part;
    } catch (error) {
      this.#forget(session, runner);
      throw error;
    }
  }

  #forget(session: Session, runner: TaskRunner): void {
    if (session.runner !== runner) return;
    session.runner = undefined;
    this.#table.settle(session, performance.now());
    this.#changed();
  }

  /** Resolves at the next change of the table. */
  async #change(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** After a change of the table: wakes who waits for one, and sees to what is too old or too much now (SESS-7). */
  #changed(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
    this.#expire();
  }

  /** Ends the tasks of sessions that have been parked too long, and looks again when the next one may be due. */
  #expire(): void {
    const now = performance.now();
    // Nobody can come back to a server that stops; its tasks are being cancelled.
    const removed = this.#table.expire(this.#stopping ? Infinity : now);
    if (!this.#stopping) for (const session of removed) this.#giveUp(session);
    const { nextExpiry } = this.#table;
    if (nextExpiry === this.#timerExpiry) return;
    this.#timerExpiry = nextExpiry;
    clearTimeout(this.#expiryTimer);
    if (nextExpiry === Infinity) return;
    const delay = Math.min(Math.max(nextExpiry - now, 1), MAX_TIMER_MS);
    this.#expiryTimer = setTimeout(() => {
      this.#timerExpiry = Infinity;
      this.#changed();
    }, delay).unref();
  }

  #giveUp({ id, runner }: Session): void {
    this.#options.logger.log("warn", "a parked session was given up", { session: id });
    void runner?.cancel("expired");
  }

  async #runTaskEndHooks(sessionId: string): Promise<void> {
    for (const error of await this.#env.runTaskEndHooks(sessionId)) {
      this.#options.logger.log("error", "a task-end hook failed", { session: sessionId, error });
    }
  }
}
