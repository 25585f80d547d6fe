import type net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@envport/wire";
import { Mismatch, NotClaimed } from "../_mismatch.ts";
import type { Patience } from "../_patience.ts";
import { until, within } from "../_patience.ts";
import { RawConnection } from "../_raw_connection.ts";
import type { ClientHost } from "./client_host.ts";
import type { Outcome } from "./client_process.ts";

import { HELLO, ServedTalk } from "./served_talk.ts";

/** A step that was told to the client, and is under way. */
export interface Pending {
  readonly what: string;
  readonly step: number;
  readonly outcome: Promise<Outcome>;
}

/** How long nothing must come, where nothing may; a slow machine can only make the bench milder by it. */
const QUIET_MS = 300;

/** The place where one scenario is played: a server that does what the scenario says, and the client under test. */
export class ClientStage {
  readonly patience: Patience;
  /** How many connections the client has opened. */
  accepted = 0;
  readonly #host: ClientHost;
  readonly #raws: RawConnection[] = [];
  readonly #arrived: net.Socket[] = [];
  /** Rejects when the client does not know a step that the scenario needs, or is gone. */
  readonly interrupted: Promise<never>;
  #interrupt!: (reason: Error) => void;

  /**
   * @param host The port, and the client that knows it.
   * @param patience How long to wait for what must come.
   */
  constructor(host: ClientHost, patience: Patience) {
    this.#host = host;
    this.patience = patience;
    this.interrupted = new Promise((_, reject) => (this.#interrupt = reject));
    this.interrupted.catch(() => {});
  }

  /** Begins to accept connections. */
  async open(): Promise<void> {
    this.#host.onConnection = (socket) => {
      this.accepted++;
      this.#arrived.push(socket.on("error", () => {}));
    };
    await this.listen();
  }

  /** Accepts connections again. */
  async listen(): Promise<void> {
    await this.#host.listen();
  }

  /** Lets connections be refused. */
  async unlisten(): Promise<void> {
    await this.#host.unlisten();
  }

  /** Tells a step to the client and goes on. */
  begin(name: string, params: JsonObject = {}): Pending {
    const what = `the step ${JSON.stringify({ do: name, ...params })}`;
    for (const raw of this.#raws) raw.lastSent = what;
    const pending = { what, ...this.#host.client.step(name, params) };
    void pending.outcome.then((outcome) => {
      if ("unsupported" in outcome) this.#interrupt(new NotClaimed(`the client does not know ${what}`));
      if ("gone" in outcome)
        this.#interrupt(new Mismatch({ sent: what, expected: "an outcome", got: outcome.gone }));
    });
    return pending;
  }

  /** What a step comes to. */
  async outcome({ what, outcome }: Pending): Promise<Outcome> {
    const over = await within(outcome, this.patience, { sent: what, expected: "it to be over" });
    if ("unsupported" in over) throw new NotClaimed(`the client does not know ${what}`);
    if ("gone" in over) throw new Mismatch({ sent: what, expected: "an outcome", got: over.gone });
    return over;
  }

  /** Waits for a step that must succeed. */
  async ok(pending: Pending): Promise<JsonObject> {
    const outcome = await this.outcome(pending);
    if ("ok" in outcome) return outcome.ok;
    throw new Mismatch({ sent: pending.what, expected: "it to succeed", got: JSON.stringify(outcome) });
  }

  /** Waits for a step that must fail; returns what is told of its error. */
  async fails(pending: Pending, words: readonly string[] = []): Promise<string> {
    const outcome = await this.outcome(pending);
    const text = "error" in outcome ? JSON.stringify(outcome.error) : "";
    if (text !== "" && words.every((word) => text.includes(word))) return text;
    const expected = `it to fail${words.length > 0 ? `, with ${words.join(" and ")}` : ""}`;
    throw new Mismatch({ sent: pending.what, expected, got: JSON.stringify(outcome) });
  }

  /** Waits for a step whose result must have these members. */
  async has(pending: Pending, members: JsonObject): Promise<void> {
    const result = await this.ok(pending);
    const fits = Object.entries(members).every(([key, value]) => isDeepStrictEqual(result[key], value));
    if (fits) return;
    throw new Mismatch({
      sent: pending.what,
      expected: JSON.stringify(members),
      got: JSON.stringify(result),
    });
  }

  /** The steps in the order in which they were over. */
  get over(): readonly number[] {
    return this.#host.client.over;
  }

  /** Waits for an event that the client tells. */
  async event(name: string, sent: string): Promise<JsonObject> {
    const find = (): JsonObject | undefined => this.#host.client.events.find(({ event }) => event === name);
    return (await until(find, (event) => event !== undefined, this.patience, {
      sent,
      expected: `the event '${name}'`,
    }))!;
  }

  /** The next connection that the client opens. */
  async accept(what = "a connection of the client"): Promise<RawConnection> {
    await until(
      () => this.#arrived.length,
      (count) => count > 0,
      this.patience,
      {
        sent: "a step",
        expected: what,
      },
    );
    const raw = new RawConnection(this.#arrived.shift()!, this.patience);
    raw.resume();
    this.#raws.push(raw);
    return raw;
  }

  /** The next connection, which must be a control session. */
  async session(): Promise<ServedTalk> {
    return new ServedTalk(await this.accept("a control session"));
  }

  /** Lets the client connect, and says hello. */
  async connected(hello: JsonObject = HELLO, params: JsonObject = {}): Promise<ServedTalk> {
    const pending = this.begin("connect", params);
    const talk = await this.session();
    talk.answer(await talk.request("hello"), hello);
    await this.ok(pending);
    return talk;
  }

  /** Lets a step make a call, and answers it. */
  async answered(
    talk: ServedTalk,
    step: [name: string, params?: JsonObject],
    method: string,
    result: JsonObject,
  ): Promise<void> {
    const pending = this.begin(...step);
    talk.answer(await talk.request(method), result);
    await this.ok(pending);
  }

  /** The local address of a binding. */
  async route(ref: string): Promise<URL> {
    const { url } = await this.ok(this.begin("binding", { ref }));
    return new URL(String(url));
  }

  /** Connects to the local address of a binding, as an agent's program does. */
  async local(url: URL): Promise<RawConnection> {
    const raw = await RawConnection.connect({ host: url.hostname, port: Number(url.port) }, this.patience);
    this.#raws.push(raw);
    return raw;
  }

  /** The connection that must follow: a stream to a binding; its reply is still to be sent. */
  async tunnel(capability: string): Promise<{ talk: ServedTalk; reply: string }> {
    const talk = new ServedTalk(await this.accept(`a connection that opens a tunnel to '${capability}'`));
    const { id, params } = await talk.request("tunnel.open");
    if (params["capability"] !== capability) {
      throw talk.raw.mismatch(`tunnel.open {"capability":"${capability}"}`, JSON.stringify(params));
    }
    return { talk, reply: `${JSON.stringify({ jsonrpc: "2.0", id, result: { capability } })}\n` };
  }

  /** Both ends of a tunnel that has been opened. */
  async pipe(): Promise<{ local: RawConnection; remote: RawConnection }> {
    const local = await this.local(await this.route("echo"));
    const { talk, reply } = await this.tunnel("echo");
    talk.raw.write(reply);
    return { local, remote: talk.raw };
  }

  /** Checks that nothing comes for a while. */
  async quiet(raw: RawConnection, expected: string): Promise<void> {
    await sleep(QUIET_MS);
    if (raw.waiting > 0) throw raw.mismatch(expected, (await raw.bytes(raw.waiting, "")).toString());
    if (raw.ending !== undefined) throw raw.mismatch(expected, raw.describeEnd());
  }

  /** Ends what the client has opened. */
  close(): void {
    for (const raw of this.#raws) raw.destroy();
    for (const socket of this.#arrived) socket.destroy();
  }
}
