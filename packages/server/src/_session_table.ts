import type { JsonObject } from "@envport/wire";
import { ErrorCode, ProtocolError } from "@envport/wire";

/** What the table asks a connection. */
export interface TableConnection {
  /** Whether its client has ended its direction: it sends no more, and may be gone (SESS-4). */
  readonly leaving: boolean;
}

/** An evaluation that was made, and whether it has reached somebody. */
export interface StoredResult {
  readonly evaluation: JsonObject;
  /** Whether it has reached somebody (SESS-6); undefined while its reply is on its way. */
  delivered: boolean | undefined;
}

/**
 * One session: what survives its connection.
 *
 * @typeParam C The connection that speaks for it.
 * @typeParam R Its task, suspended or running.
 */
export interface Session<C, R> {
  readonly id: string;
  /** Whose token began it: nobody else resumes or adopts it (SESS-10). */
  readonly holder: string;
  /** The connection that speaks for it now; undefined for a parked session. */
  connection: C | undefined;
  /** The task that it started or adopted, until the task is over. */
  runner: R | undefined;
  /** Whether it has graded a task that it started itself: it never adopts then. */
  graded: boolean;
  /** Whether it asked for stored results (`hello {replay: true}`). */
  replay: boolean;
  result: StoredResult | undefined;
  /** How many calls are being executed for it; they may outlive the connection that made them. */
  calls: number;
  /** When it is given up, in milliseconds of the table's clock; undefined while a connection speaks for it. */
  expires: number | undefined;
}

/**
 * What a `tasks.grade` is about: a task, a result that is there already, or something that a call, a reply or a client
 * on its way decides first.
 */
export type Claim = "task" | "result" | "undecided";

/** Limits of {@linkcode SessionTable}. */
export interface SessionTableLimits {
  /** How long a parked task is kept, in milliseconds. */
  parkTtl: number;
  /** How long a stored result is kept, in milliseconds. */
  resultTtl: number;
  /** How many parked sessions are kept. */
  maxParked: number;
}

/**
 * The rules of sessions (SESS-2 to SESS-8) as a table without I/O, clock or timers: who is live, who is parked, who may
 * resume, and which task a grade is about. What a change displaces is returned, for the caller to end.
 *
 * @typeParam C A connection.
 * @typeParam R A task.
 */
export class SessionTable<C extends TableConnection, R> {
  readonly #limits: SessionTableLimits;
  readonly #sessions = new Map<string, Session<C, R>>();
  /** Those without a connection, in the order in which they lost it. */
  readonly #parked = new Set<Session<C, R>>();
  #nextExpiry = Infinity;

  /** @param limits How much is kept, and how long. */
  constructor(limits: SessionTableLimits) {
    this.#limits = limits;
  }

  /** How many sessions have a connection. */
  get liveCount(): number {
    return this.#sessions.size - this.#parked.size;
  }

  /** How many sessions wait for a connection. */
  get parkedCount(): number {
    return this.#parked.size;
  }

  /** Whether a session can still be reached. */
  has(session: Session<C, R>): boolean {
    return this.#sessions.has(session.id);
  }

  /**
   * Begins a session.
   *
   * @param id A fresh id (SESS-3).
   * @param connection The connection that speaks for it.
   * @param holder Whose token it carried.
   */
  open(id: string, connection: C, holder = ""): Session<C, R> {
    const session: Session<C, R> = {
      id,
      holder,
      connection,
      runner: undefined,
      graded: false,
      replay: false,
      result: undefined,
      calls: 0,
      expires: undefined,
    };
    this.#sessions.set(id, session);
    return session;
  }

  /**
   * Takes a session's connection away (SESS-4): with a task, a result or a call it is parked, else it is gone.
   *
   * @param session The session.
   * @param now The time in milliseconds.
   */
  drop(session: Session<C, R>, now: number): void {
    session.connection = undefined;
    this.settle(session, now);
  }

  /** Ends a session for good (`bye`): its id means nothing any more. */
  remove(session: Session<C, R>): void {
    session.connection = undefined;
    session.result = undefined;
    this.#parked.delete(session);
    this.#sessions.delete(session.id);
  }

  /**
   * Makes a connection speak for another session (SESS-2, SESS-8).
   *
   * @param own The session that the connection spoke for.
   * @param id The session to resume.
   * @param takeover Whether a connection that is still open may be displaced.
   * @param now The time in milliseconds.
   * @returns The resumed session, and the connection that lost it.
   * @throws {ProtocolError} If there is no such session, or it is live (-32600).
   */
  resume(
    own: Session<C, R>,
    id: string,
    takeover: boolean,
    now: number,
  ): { session: Session<C, R>; displaced: C | undefined } {
    const session = this.#sessions.get(id);
    if (session?.holder !== own.holder) throw refusal(`unknown session: '${id}'`, "unknown-session");
    const displaced = session.connection;
    if (displaced !== undefined && !takeover) {
      throw refusal(`session '${id}' has a live connection`, "live-session");
    }
    session.connection = own.connection;
    this.settle(session, now);
    this.drop(own, now);
    return { session, displaced };
  }

  /**
   * Finds what a grade is about: the session's own task or result, else the only one that nobody speaks for, which
   * becomes its own (SESS-5, SESS-6).
   *
   * A session whose client is leaving counts beside the parked ones: its task is about to be parked, its result about to
   * prove undelivered. So does one whose call is still running.
   *
   * @param own The session that asks.
   * @param now The time in milliseconds.
   * @returns What `own` holds now, or that it is too early to tell.
   * @throws {ProtocolError} If there is nothing to grade, or more than one candidate (-32600).
   */
  claim(own: Session<C, R>, now: number): Claim {
    if (own.runner !== undefined) return "task";
    if (isOnItsWay(own)) return "undecided";
    if (own.result && (own.replay || !own.result.delivered)) return "result";
    if (own.graded) throw noTask();
    const candidates = [...this.#sessions.values()].filter(
      (session) => session !== own && session.holder === own.holder && isUnattended(session),
    );
    const [only] = candidates;
    if (!only) throw noTask();
    if (candidates.some(isOnItsWay)) return "undecided";
    if (candidates.length > 1) throw ambiguous(candidates.map(({ id }) => id).sort());
    if (only.connection !== undefined || only.calls > 0) return "undecided";
    own.runner = only.runner;
    own.result = only.result;
    only.runner = only.result = undefined;
    this.settle(only, now);
    return own.runner === undefined ? "result" : "task";
  }

  /**
   * Notes a finished grade; nobody has been told yet.
   *
   * @param session The session that holds the task.
   * @param evaluation What to store.
   * @param now The time in milliseconds.
   */
  store(session: Session<C, R>, evaluation: JsonObject, now: number): void {
    session.runner = undefined;
    session.result = { evaluation, delivered: false };
    session.expires = undefined;
    this.settle(session, now);
  }

  /** Sends the stored result on its way; {@linkcode sent} tells what has become of it. */
  send(session: Session<C, R>): StoredResult {
    const { evaluation, delivered } = session.result!;
    session.result = { evaluation, delivered: delivered || undefined };
    return session.result;
  }

  /**
   * Notes whether a result has reached somebody: one that has is kept only for a session that asked for it.
   *
   * @param session The session that it was sent for.
   * @param result What {@linkcode send} returned.
   * @param delivered Whether somebody was there.
   * @param now The time in milliseconds.
   */
  sent(session: Session<C, R>, result: StoredResult, delivered: boolean, now: number): void {
    if (session.result !== result) return;
    result.delivered ||= delivered;
    if (result.delivered && !session.replay) session.result = undefined;
    this.settle(session, now);
  }

  /**
   * Brings a session's expiry in line with what it holds; one that holds nothing and has no connection is removed.
   *
   * @param session A session whose task, result, calls or connection have changed.
   * @param now The time in milliseconds.
   */
  settle(session: Session<C, R>, now: number): void {
    const { runner, result, calls, connection } = session;
    const held = runner !== undefined || result !== undefined || calls > 0;
    if (connection === undefined && held && this.has(session)) {
      this.#parked.add(session);
      session.expires ??= now + (result === undefined ? this.#limits.parkTtl : this.#limits.resultTtl);
      this.#nextExpiry = Math.min(this.#nextExpiry, session.expires);
      return;
    }
    this.#parked.delete(session);
    session.expires = undefined;
    if (connection === undefined) this.#sessions.delete(session.id);
  }

  /**
   * Removes the parked sessions that are too old or too many, oldest first.
   *
   * @param now The time in milliseconds.
   * @returns What was removed; the caller ends their tasks.
   */
  expire(now: number): Session<C, R>[] {
    const removed: Session<C, R>[] = [];
    const remove = (session: Session<C, R>): void => {
      this.remove(session);
      removed.push(session);
    };
    for (const session of this.#parked) {
      if (this.#parked.size <= this.#limits.maxParked) break;
      remove(session);
    }
    if (now < this.#nextExpiry) return removed;
    this.#nextExpiry = Infinity;
    for (const session of this.#parked) {
      if (session.expires! <= now) remove(session);
      else this.#nextExpiry = Math.min(this.#nextExpiry, session.expires!);
    }
    return removed;
  }

  /** No parked session is too old before this time, in milliseconds of the caller's clock. */
  get nextExpiry(): number {
    return this.#nextExpiry;
  }
}

/** Whether a session holds something that a blind grade may be about. */
function isUnattended<C extends TableConnection, R>(session: Session<C, R>): boolean {
  const { connection, runner, result } = session;
  if (connection !== undefined && !connection.leaving) return false;
  return runner !== undefined || (result !== undefined && result.delivered !== true);
}

function isOnItsWay({ result }: Session<unknown, unknown>): boolean {
  return result !== undefined && result.delivered === undefined;
}

function refusal(message: string, type: string): ProtocolError {
  return new ProtocolError(ErrorCode.invalidRequest, message, { type });
}

function noTask(): ProtocolError {
  return refusal("no task in progress", "no-task");
}

function ambiguous(ids: string[]): ProtocolError {
  return new ProtocolError(
    ErrorCode.invalidRequest,
    `${String(ids.length)} parked sessions (${ids.join(", ")}); resume one by sending hello with its session_id`,
    { type: "ambiguous", session_ids: ids },
  );
}
