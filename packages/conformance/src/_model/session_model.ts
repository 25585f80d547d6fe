import type { JsonObject } from "@envport/wire";
import type { WantedError } from "../_talk.ts";
import type { Profile } from "../requirement.ts";

/** What the reply to a call may be. */
export type Wanted = { readonly result: JsonObject } | { readonly error: WantedError };

/** One thing that may happen, and what is then the case. */
export interface Outcome {
  readonly wanted: Wanted;
  /** Makes the model follow. */
  apply(): void;
}

/** The tasks of the fixture that the model starts. */
export type TaskKind = "echo" | "throw-grade";

/** A suspended task. */
export interface ModelTask {
  /** Its number: it scores `k + 0.5`. */
  readonly k: number;
  readonly kind: TaskKind;
  /** The session that started it. */
  readonly by: string;
}

interface Session {
  task?: ModelTask | undefined;
  /** It has graded a task that it started itself. */
  graded: boolean;
  replay: boolean;
  result?: { score: number; delivered: boolean } | undefined;
  /** The score of a result that may be kept or not: the contract leaves it open. */
  maybe?: number | undefined;
}

const NO_TASK: Wanted = { error: { code: -32600, words: "no task in progress" } };

/**
 * The session table as the contract has it (SESS-1 to SESS-8), without any server: who is live, what is parked, and what
 * a call may answer. Where the contract leaves something open there are several outcomes, and the model follows the one
 * that came.
 */
export class SessionModel {
  /** Which session each open connection speaks for. */
  readonly connections: Map<number, string> = new Map();
  /** Every id that was ever seen, in order. */
  readonly known: string[] = [];
  /** Numbers of the tasks that were started, and whether they are still to be cleaned up. */
  readonly tasks: Map<number, { open: boolean }> = new Map();
  readonly #strict: boolean;
  readonly #sessions = new Map<string, Session>();
  /** Ids of which nobody can say whether they are gone. */
  readonly #uncertain = new Set<string>();

  /** @param profile `base`: a grade without a task always adopts; `strict`: SESS-6. */
  constructor(profile: Profile) {
    this.#strict = profile === "strict";
  }

  get strict(): boolean {
    return this.#strict;
  }

  /** The task that a session holds. */
  taskOf(id: string): ModelTask | undefined {
    return this.#sessions.get(id)?.task;
  }

  /** Sessions that exist and that nobody speaks for. */
  get parked(): string[] {
    return [...this.#sessions.keys()].filter((id) => !this.isLive(id));
  }

  /** Whether a session has graded a task of its own. */
  hasGraded(id: string): boolean {
    return this.#sessions.get(id)?.graded ?? false;
  }

  /** Whether a connection speaks for a session. */
  isLive(id: string): boolean {
    return [...this.connections.values()].includes(id);
  }

  /** Whether it can be told what a `hello` for this session does. */
  isCertain(own: string, id: string): boolean {
    const { result } = this.#session(own);
    return !this.#uncertain.has(id) && (result === undefined || result.delivered || own === id);
  }

  connect(slot: number, id: string): void {
    this.known.push(id);
    this.connections.set(slot, id);
    this.#sessions.set(id, { graded: false, replay: false });
  }

  start(own: string, kind: TaskKind, k: number): void {
    this.failStart(own);
    this.#session(own).task = { k, kind, by: own };
    this.tasks.set(k, { open: true });
  }

  /** A start that fails gives up what the session had, too. */
  failStart(own: string): void {
    const session = this.#session(own);
    this.#finish(session);
    session.result = session.maybe = undefined;
  }

  cancel(own: string): void {
    this.#finish(this.#session(own));
  }

  askForReplay(own: string): void {
    this.#session(own).replay = true;
  }

  bye(slot: number): void {
    const id = this.connections.get(slot)!;
    const session = this.#session(id);
    if (session.result !== undefined || session.maybe !== undefined) this.#uncertain.add(id);
    this.#finish(session);
    this.connections.delete(slot);
    this.#sessions.delete(id);
  }

  drop(slot: number): void {
    const id = this.connections.get(slot)!;
    this.connections.delete(slot);
    this.#settle(id);
  }

  /** A grade of a task that a session has just started, whose connection goes away before the reply. */
  loseResult(slot: number, k: number): void {
    const id = this.connections.get(slot)!;
    const session = this.#session(id);
    this.tasks.set(k, { open: false });
    session.graded = true;
    session.result = { score: k + 0.5, delivered: false };
    this.drop(slot);
  }

  /** What a plain `tasks.grade` may do (SESS-5, SESS-6). */
  grade(own: string): Outcome[] {
    const session = this.#session(own);
    const { task, graded, replay, result, maybe } = session;
    if (task) return [this.#gradeTask(own, own, task)];
    const kept = maybe === undefined ? [] : [this.#serve(session, maybe)];
    if (!this.#strict) return [...this.#blind(own), ...(graded ? [nothing()] : []), ...kept];
    if (result) {
      const served = this.#serve(session, result.score);
      if (replay && graded) return [served];
      return [served, ...(graded ? [nothing()] : this.#blind(own))];
    }
    return [...(graded ? [nothing()] : this.#blind(own)), ...kept];
  }

  /** What a grade of a session without a task may do with what nobody speaks for. */
  #blind(own: string): Outcome[] {
    const candidates = [...this.#sessions].filter(
      ([id, { task, result }]) => !this.isLive(id) && (task !== undefined || result?.delivered === false),
    );
    const [only] = candidates;
    if (!only) return [nothing()];
    if (candidates.length > 1) {
      const ids = candidates.map(([id]) => id).sort();
      const words = `${String(ids.length)} parked sessions (${ids.join(", ")})`;
      return [{ wanted: { error: { code: -32600, words } }, apply: () => {} }];
    }
    const [id, { task, result }] = only;
    if (task) return [this.#gradeTask(own, id, task)];
    const { score } = result!;
    const served = this.#serve(this.#session(own), score);
    const apply = (): void => {
      this.#sessions.delete(id);
      served.apply();
    };
    return [{ wanted: served.wanted, apply }];
  }

  #gradeTask(own: string, holder: string, task: ModelTask): Outcome {
    const fails = task.kind === "throw-grade";
    const score = task.k + 0.5;
    const apply = (): void => {
      const session = this.#session(own);
      this.#finish(this.#session(holder));
      if (!this.isLive(holder)) this.#settle(holder);
      if (task.by === own) session.graded = true;
      session.result = session.maybe = undefined;
      if (!fails) this.#keep(session, score);
    };
    return { wanted: fails ? { error: { code: -32000 } } : { result: { score } }, apply };
  }

  #serve(session: Session, score: number): Outcome {
    return { wanted: { result: { score } }, apply: () => this.#keep(session, score) };
  }

  /** What becomes of a result that was delivered. */
  #keep(session: Session, score: number): void {
    const sure = this.#strict && session.replay;
    session.result = sure ? { score, delivered: true } : undefined;
    session.maybe = sure ? undefined : score;
  }

  /** What a `hello` for a session may do (SESS-2, SESS-8). */
  resume(
    slot: number,
    id: string,
    takeover: boolean,
  ): { outcomes: Outcome[]; displaced: number | undefined } {
    const own = this.connections.get(slot)!;
    const ok: Wanted = { result: { session_id: id } };
    if (id === own) return { outcomes: [{ wanted: ok, apply: () => {} }], displaced: undefined };
    const [displaced] = [...this.connections].find(([, held]) => held === id) ?? [];
    const session = this.#sessions.get(id);
    const apply = (): void => {
      if (displaced !== undefined) this.connections.delete(displaced);
      this.connections.set(slot, id);
      this.#leave(own);
    };
    const unknown: Outcome = {
      wanted: { error: { code: -32600, words: `unknown session: '${id}'` } },
      apply: () => this.#sessions.delete(id),
    };
    if (!session) return { outcomes: [unknown], displaced: undefined };
    if (displaced !== undefined && !takeover) {
      const words = `session '${id}' has a live connection`;
      return {
        outcomes: [{ wanted: { error: { code: -32600, words } }, apply: () => {} }],
        displaced: undefined,
      };
    }
    const sure = displaced !== undefined || session.task !== undefined || session.result !== undefined;
    return { outcomes: [{ wanted: ok, apply }, ...(sure ? [] : [unknown])], displaced };
  }

  /** The session that a connection spoke for before it resumed another: gone, unless it holds a task. */
  #leave(id: string): void {
    const session = this.#session(id);
    if (session.result) session.maybe = session.result.score;
    session.result = undefined;
    this.#settle(id);
  }

  /** A session without a connection that holds nothing is gone. */
  #settle(id: string): void {
    const { task, result, maybe } = this.#session(id);
    if (task === undefined && result === undefined && maybe === undefined) this.#sessions.delete(id);
  }

  #finish(session: Session): void {
    if (session.task) this.tasks.set(session.task.k, { open: false });
    session.task = undefined;
  }

  #session(id: string): Session {
    return this.#sessions.get(id)!;
  }
}

function nothing(): Outcome {
  return { wanted: NO_TASK, apply: () => {} };
}
