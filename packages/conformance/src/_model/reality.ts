import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@envport/wire";
import { isJsonObject } from "@envport/wire";
import { Mismatch } from "../_mismatch.ts";
import type { Drop, ServerFacts } from "../_server/stage.ts";
import { FOREVER_MS, ServerStage } from "../_server/stage.ts";
import type { Talk } from "../_talk.ts";
import type { Outcome, SessionModel, TaskKind, Wanted } from "./session_model.ts";

/** The server under test during one sequence: its connections, and what has been done so far. */
export class Reality {
  /** What was done, for a person to read. */
  readonly steps: string[] = [];
  readonly #stage: ServerStage;
  readonly #connections = new Map<number, Talk>();
  readonly #labels = new Map<number, string>();
  readonly #names = new Map<string, string>();
  #slots = 0;

  /** @param facts Where the server is. */
  constructor(facts: ServerFacts) {
    this.#stage = new ServerStage(facts);
  }

  /** Ends what earlier sequences have left. */
  async clear(): Promise<void> {
    await this.#stage.clear();
  }

  /** Goes away in good order. */
  async close(): Promise<void> {
    await this.#stage.close();
  }

  async connect(model: SessionModel): Promise<void> {
    const slot = this.#slots++;
    this.steps.push(`c${String(slot)} connects and says hello`);
    const talk = await this.#stage.session();
    const id = talk.sessionId;
    talk.check(/^sess-\w+$/.test(id) && !model.known.includes(id), "a fresh session_id", id);
    this.#names.set(id, `s${String(model.known.length)}`);
    this.#connections.set(slot, talk);
    model.connect(slot, id);
    this.#note(`session ${this.#names.get(id)!}`);
  }

  /** Calls a method, and lets the model follow what came. */
  async call(slot: number, method: string, params: object, outcomes: readonly Outcome[]): Promise<void> {
    this.steps.push(`c${String(slot)} ${method} ${this.readable(JSON.stringify(params))}`);
    const talk = this.#connections.get(slot)!;
    const reply = await talk.call(method, params);
    const told = JSON.stringify(reply["result"] ?? reply["error"]);
    this.#note(this.readable(told));
    const outcome = outcomes.find(({ wanted }) => fits(reply, wanted));
    if (!outcome) {
      const expected = outcomes.map(({ wanted }) => describe(wanted)).join(", or ");
      throw new Mismatch({
        sent: this.readable(talk.raw.lastSent),
        expected: this.readable(expected),
        got: this.readable(told),
      });
    }
    outcome.apply();
  }

  async start(slot: number, kind: TaskKind | "slow-grade", k: number, follow: () => void): Promise<void> {
    const label = this.#stage.label();
    this.#labels.set(k, label);
    const text = `go:${String(k)}`;
    const args = { text, label, score: k + 0.5, ...(kind === "slow-grade" ? { ms: FOREVER_MS } : {}) };
    await this.call(slot, "tasks.start", { id: kind, args }, [
      { wanted: { result: { prompt: text } }, apply: follow },
    ]);
  }

  /** Goes away without a word. */
  async drop(slot: number, how: Drop): Promise<void> {
    this.steps.push(`c${String(slot)} goes away (${how})`);
    const talk = this.#connections.get(slot)!;
    this.#connections.delete(slot);
    await this.#stage.drop(talk, how);
  }

  /** Grades, and goes away before the reply comes. */
  async gradeAndDrop(slot: number, k: number, how: Drop): Promise<void> {
    this.steps.push(`c${String(slot)} tasks.grade {}, and goes away (${how}) while the task is being graded`);
    const [talk, label] = [this.#connections.get(slot)!, this.#labels.get(k)!];
    talk.request("tasks.grade", {});
    await this.#stage.untilEvent(label, "grade", "tasks.grade");
    this.#connections.delete(slot);
    await this.#stage.leaveDuring(talk, how, label);
    await this.#stage.untilEvent(label, "end", `${how} during a grade`);
    await this.#stage.settled(talk.sessionId);
  }

  /** Waits for the server to close a connection. */
  async closed(slot: number): Promise<void> {
    const talk = this.#connections.get(slot)!;
    this.#connections.delete(slot);
    await talk.closed();
    talk.raw.destroy();
  }

  /** Notes which session a connection speaks for now. */
  speaksFor(slot: number, id: string): void {
    this.#connections.get(slot)!.sessionId = id;
  }

  /** Checks that each task has begun once, and was cleaned up once if it is over. */
  async checkTasks(model: SessionModel): Promise<void> {
    for (const [k, { open }] of model.tasks) {
      const events = await this.#stage.events(this.#labels.get(k)!);
      const count = (event: string): number => events.filter((one) => one === event).length;
      if (count("start") === 1 && count("end") === (open ? 0 : 1)) continue;
      const wanted = open ? "to be waiting for its grade" : "to have been cleaned up once";
      throw new Mismatch({
        sent: "the steps above",
        expected: `task ${String(k)} ${wanted}`,
        got: events.join(" "),
      });
    }
  }

  /** Adds what came to the last step. */
  #note(outcome: string): void {
    this.steps.push(`${this.steps.pop()!} → ${outcome}`);
  }

  /** Session ids are too long to be told apart. */
  readable(text: string): string {
    return text.replaceAll(/sess-\w+/g, (id) => this.#names.get(id) ?? id);
  }
}

function fits(reply: JsonObject, wanted: Wanted): boolean {
  if ("error" in wanted) {
    const { error } = reply;
    const { code, words } = wanted.error;
    return (
      isJsonObject(error) && error["code"] === code && String(error["message"]).includes(String(words ?? ""))
    );
  }
  const { result } = reply;
  if (!isJsonObject(result)) return false;
  return Object.entries(wanted.result).every(([key, value]) => isDeepStrictEqual(result[key], value));
}

function describe(wanted: Wanted): string {
  if ("result" in wanted) return `the result ${JSON.stringify(wanted.result)}`;
  return `error ${String(wanted.error.code)} ${JSON.stringify(wanted.error.words ?? "")}`;
}
