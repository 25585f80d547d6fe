import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@envport/wire";
import { isJsonObject } from "@envport/wire";
import { Mismatch, NotClaimed } from "../_mismatch.ts";
import type { Patience } from "../_patience.ts";
import { atMost, until } from "../_patience.ts";
import type { Address } from "../_raw_connection.ts";
import { RawConnection } from "../_raw_connection.ts";
import { Talk } from "../_talk.ts";
import type { Limits } from "./fixture.ts";
import type { Launch, LaunchedServer } from "./launch.ts";

/** What all scenarios of a run share. */
export interface ServerFacts {
  address: Address;
  patience: Patience;
  limits: Limits;
  /** Starts another server of the same kind; absent where the bench was given an address. */
  launch?: Launch | undefined;
  /** The one that the bench has started itself. */
  launched?: LaunchedServer | undefined;
  /** Under way while that one is started again. */
  reviving?: Promise<void> | undefined;
}

/** How a connection goes away. */
export type Drop = "end" | "close" | "reset";

/** What a dropped session has become. */
export type Dropped = "parked" | "gone";

/** How long a task takes that must not come to its end by itself, in milliseconds. */
export const FOREVER_MS = 600_000;
/** How long a clean-up after a scenario may take, in milliseconds. */
const CLEAN_UP_MS = 2_000;
/** How often a dropped session is looked at, in milliseconds. */
const POLL_MS = 5;

/** The place where one scenario is played: connections to the server under test, which are gone afterwards. */
export class ServerStage {
  readonly facts: ServerFacts;
  readonly #raws: RawConnection[] = [];
  readonly #talks: Talk[] = [];
  readonly #name = randomBytes(4).toString("hex");
  #labels = 0;
  #side: Promise<Talk> | undefined;

  /** @param facts What all scenarios share. */
  constructor(facts: ServerFacts) {
    this.facts = facts;
  }

  get patience(): Patience {
    return this.facts.patience;
  }

  /** Another server of the same kind, which the scenario may stop. */
  launch(): Promise<LaunchedServer> {
    if (this.facts.launch) return this.facts.launch();
    throw new NotClaimed("the bench must start the server itself: give it a command instead of an address");
  }

  /** A connection on which nothing has been said. */
  async raw(address: Address = this.facts.address): Promise<RawConnection> {
    const raw = await RawConnection.connect(address, this.patience);
    this.#raws.push(raw);
    return raw;
  }

  /** A connection to speak lines on; nothing has been said. */
  async connect(): Promise<Talk> {
    const talk = await Talk.connect(this.facts.address, this.patience);
    this.#talks.push(talk);
    return talk;
  }

  /** A connection that has said hello. */
  async session(params: JsonObject = {}): Promise<Talk> {
    const talk = await this.connect();
    await talk.hello(params);
    return talk;
  }

  /** A stream to a binding; the reply has been read. */
  async tunnel(capability: string): Promise<RawConnection> {
    const raw = await this.raw();
    const talk = new Talk(raw);
    talk.send({ jsonrpc: "2.0", id: 1, method: "tunnel.open", params: { capability } });
    const reply = await talk.resultOf(1);
    talk.check(reply["capability"] === capability, `the result {"capability":"${capability}"}`, reply);
    return raw;
  }

  /** A name for a task of which the fixture keeps a record. */
  label(): string {
    return `${this.#name}-${String(++this.#labels)}`;
  }

  /** What has become of the tasks with a label, in order: `start`, `prompt`, `grade`, `graded`, `end`, `hook`. */
  async events(label: string): Promise<string[]> {
    this.#side ??= this.connect();
    const side = await this.#side;
    const prompt = await side.start("ledger", { label });
    const events = isJsonObject(prompt) ? prompt["events"] : undefined;
    if (Array.isArray(events)) return events.map(String);
    throw side.raw.mismatch(
      `a prompt with 'events' from the fixture's task 'ledger'`,
      JSON.stringify(prompt),
    );
  }

  /** Waits until the record of a label holds an event. */
  async untilEvent(label: string, event: string, sent: string): Promise<string[]> {
    return await until(
      () => this.events(label),
      (events) => events.includes(event),
      this.patience,
      {
        sent,
        expected: `the fixture to note '${event}'`,
      },
    );
  }

  /** Checks the record of a label. */
  async checkEvents(label: string, wanted: string, sent: string): Promise<void> {
    const events = (await this.events(label)).join(" ");
    if (events !== wanted)
      throw new Mismatch({ sent, expected: `the fixture to note '${wanted}'`, got: `'${events}'` });
  }

  /**
   * Lets a connection go away, and waits until the server has noticed.
   *
   * @param talk One that has said hello.
   * @param how How it goes.
   */
  async drop(talk: Talk, how: Drop): Promise<Dropped> {
    this.leave(talk, how);
    return await this.settled(talk.sessionId);
  }

  /** Lets a connection go away. */
  leave(talk: Talk, how: Drop): void {
    if (how === "end") talk.raw.end();
    else if (how === "close") talk.raw.destroy();
    else talk.raw.reset();
  }

  /**
   * Lets a connection go away while a slow task of its session waits, and then lets the task go on.
   *
   * @param talk The connection.
   * @param how How it goes.
   * @param label The task's.
   */
  async leaveDuring(talk: Talk, how: Drop, label: string): Promise<void> {
    this.leave(talk, how);
    // What is asked for after the end is read after it: with the answer the server knows.
    await this.events(label);
    await (await this.#side!).start("release", { label });
  }

  /**
   * Waits until the server has noticed that a session's connection is gone. The only way to ask is to resume the session
   * and to leave it again, in good order: whoever ends a connection has noticed its end.
   */
  async settled(sessionId: string): Promise<Dropped> {
    for (const deadline = performance.now() + this.patience.ms; ;) {
      const talk = await this.connect();
      const reply = await talk.call("hello", { session_id: sessionId });
      await talk.leave();
      if ("result" in reply) return "parked";
      const message = JSON.stringify(reply["error"]);
      if (!message.includes("live connection")) return "gone";
      if (performance.now() > deadline) {
        throw talk.raw.mismatch("the dropped session not to be live any more", JSON.stringify(reply));
      }
      await sleep(POLL_MS);
    }
  }

  /** Starts `echo` on a connection of its own, which then goes away; returns the session that is parked. */
  async park(args: JsonObject = {}, how: Drop = "end"): Promise<string> {
    const talk = await this.session();
    await talk.start("echo", args);
    const became = await this.drop(talk, how);
    talk.check(became === "parked", "the session with the task to be parked", "it is unknown");
    return talk.sessionId;
  }

  /** Ends what is parked on the server, whoever left it there. */
  async clear(): Promise<void> {
    let last = "";
    for (let round = 0; round < MAX_CLEAR_ROUNDS; round++) {
      const talk = await this.connect();
      const reply = await talk.call("tasks.grade", {});
      await talk.leave();
      const { message } = (reply["error"] ?? {}) as { message?: unknown };
      last = JSON.stringify(reply["error"] ?? reply["result"]);
      if (typeof message !== "string") continue;
      if (message.includes("no task in progress")) return;
      for (const [id] of message.matchAll(/sess-\w+/g)) await this.#end(id);
    }
    throw new Mismatch({
      sent: `hello and bye for whatever is parked, and ${String(MAX_CLEAR_ROUNDS)} times tasks.grade`,
      expected: "'no task in progress' in the end, if nobody else uses the server",
      got: last,
    });
  }

  async #end(sessionId: string): Promise<void> {
    const talk = await this.connect();
    await talk.call("hello", { session_id: sessionId });
    await talk.call("bye");
    await talk.raw.rest("the end after bye");
  }

  /** Says goodbye on what is still open, so that nothing stays behind on the server. */
  async close(): Promise<void> {
    for (const raw of this.#raws) raw.destroy();
    const leaving = this.#talks.map(async (talk) => {
      if (talk.raw.ending !== undefined) return;
      talk.send(
        { jsonrpc: "2.0", id: "bye", method: "tasks.cancel" },
        { jsonrpc: "2.0", id: "bye", method: "bye" },
      );
      await talk.raw.rest("the end after bye");
    });
    await atMost(Promise.allSettled(leaving), CLEAN_UP_MS);
    for (const { raw } of this.#talks) raw.destroy();
  }
}

const MAX_CLEAR_ROUNDS = 20;
