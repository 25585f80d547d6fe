import { randomBytes } from "node:crypto";
import type { JsonObject, RpcContext } from "@envport/wire";
import { ErrorCode, ProtocolError } from "@envport/wire";
import type { Session as TableSession, SessionTableLimits } from "./_session_table.ts";
import { SessionTable } from "./_session_table.ts";
import { TaskRunner } from "./_task_runner.ts";
import { within } from "./_within.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";

/** A connection that speaks for a session. */
export interface SessionConnection {
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

/** The sessions of one server and the tasks that they run: the session table with a clock, timers and task runners. */
export class Sessions {
  readonly #env: Environment;
  readonly #options: SessionsOptions;
  readonly #table: SessionTable<SessionConnection, TaskRunner>;
  /** Evaluations whose replies are on their way. */
  readonly #unconfirmed = new Set<Promise<void>>();
  #expiryTimer: NodeJS.Timeout | undefined;
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

  /** Begins a session with 128 random bits as its id (SESS-3). */
  open(connection: SessionConnection): Session {
    return this.#table.open(`sess-${randomBytes(16).toString("hex")}`, connection);
  }

  /** Parks or forgets a session whose connection is gone (SESS-4). */
  drop(session: Session): void {
    this.#table.drop(session, performance.now());
    this.#expire();
  }

  /** Makes a connection speak for another session (SESS-2, SESS-8). */
  resume(own: Session, id: string, takeover: boolean): Session {
    const { session, displaced } = this.#table.resume(own, id, takeover, performance.now());
    displaced?.displace();
    this.#expire();
    return session;
  }

  /**
   * Starts a task in place of the session's earlier one (TASK-2).
   *
   * @throws {ProtocolError} If the task is unknown, or whatever the start throws.
   */
  async start(session: Session, id: string, args: JsonObject): Promise<JsonObject> {
    await this.cancel(session);
    session.result = undefined;
    const template = this.#env.templates.get(id);
    if (!template) throw new ProtocolError(ErrorCode.invalidParams, `unknown task: '${id}'`, { type: "unknown-task" });
    if (this.#stopping) throw new ProtocolError(ErrorCode.serverError, "the server is stopping", { type: "cancelled" });
    const runner = new TaskRunner(template, {
      sessionId: session.id,
      cancelGrace: this.#options.cancelGrace,
      logger: this.#options.logger,
      onEnd: () => this.#runTaskEndHooks(session.id),
      onProgress: (message, fraction) => session.connection?.progress(message, fraction),
    });
    session.runner = runner;
    try {
      return await runner.start(args);
    } catch (error) {
      this.#forget(session, runner);
      throw error;
    }
  }

  /**
   * Grades a task, or hands out a result that is there already (SESS-5, SESS-6).
   *
   * @param own The session that asks.
   * @param params The params of `tasks.grade`.
   * @param context Told whether the reply arrived.
   * @param onClaim Gets the session whose task it is.
   */
  async grade(
    own: Session,
    params: JsonObject,
    context: RpcContext,
    onClaim: (session: Session) => void,
  ): Promise<JsonObject> {
    // Whether a result is still to be had is known only once its reply has arrived or failed to.
    if (!own.runner) await within(Promise.all(this.#unconfirmed), CONFIRM_MS);
    const { session } = this.#table.claim(own);
    onClaim(session);
    const evaluation = session.runner ? await this.#evaluate(session, session.runner, params) : session.result!.evaluation;
    const confirmed = new Promise<void>((resolve) => {
      context.onSent((delivered) => {
        this.#table.sent(session, delivered, performance.now());
        this.#unconfirmed.delete(confirmed);
        resolve();
      });
    });
    this.#unconfirmed.add(confirmed);
    return evaluation;
  }

  async #evaluate(session: Session, runner: TaskRunner, params: JsonObject): Promise<JsonObject> {
    // A grade that is under way was begun by a connection that is gone: its result is this caller's too.
    if (runner.evaluation) return await runner.evaluation;
    session.graded = true;
    try {
      const evaluation = await runner.grade(params);
      this.#table.store(session, evaluation, performance.now());
      return evaluation;
    } catch (error) {
      this.#forget(session, runner);
      throw error;
    }
  }

  /** Cancels a session's task (TASK-8); resolves when its clean-up has run. */
  async cancel(session: Session): Promise<void> {
    const { runner } = session;
    if (!runner) return;
    this.#forget(session, runner);
    await runner.cancel();
  }

  /** Cancels every task and starts no more (TASK-11); resolves when all clean-up has run. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#expiryTimer);
    const tasks = [...this.#table.sessions].map(async (session) => {
      const { runner } = session;
      if (!runner) return;
      this.#forget(session, runner);
      await runner.cancel("shutdown");
    });
    await Promise.all(tasks);
  }

  #forget(session: Session, runner: TaskRunner): void {
    if (session.runner !== runner) return;
    session.runner = undefined;
    this.#table.settle(session, performance.now());
  }

  /** Ends the tasks of sessions that have been parked too long, and looks again when the next one is due (SESS-7). */
  #expire(): void {
    const now = performance.now();
    for (const { id, runner } of this.#table.expire(now)) {
      this.#options.logger.log("warn", "a parked session was given up", { session: id });
      void runner?.cancel();
    }
    clearTimeout(this.#expiryTimer);
    const next = this.#table.nextExpiry();
    if (next === undefined || this.#stopping) return;
    this.#expiryTimer = setTimeout(() => {
      this.#expire();
    }, Math.min(Math.max(next - now, 1), MAX_TIMER_MS)).unref();
  }

  async #runTaskEndHooks(sessionId: string): Promise<void> {
    for (const error of await this.#env.runTaskEndHooks(sessionId)) {
      this.#options.logger.log("error", "a task-end hook failed", { session: sessionId, error });
    }
  }
}

/** How long a grade waits for replies that are on their way: longer than it takes to notice that nobody reads them. */
const CONFIRM_MS = 250;
/** What `setTimeout` can hold. */
const MAX_TIMER_MS = 2 ** 31 - 1;
