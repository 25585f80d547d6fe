import {
  EnvportError,
  fromManifest,
  FramedStream,
  isJsonObject,
  RpcClient,
  SOCKET_OPTIONS,
} from "@envport/wire";
import type { AbortOptions, JsonObject, PublishedCapability } from "@envport/wire";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { pause } from "./_pause.ts";
import type { ClaimedSlot } from "./_robot_host.ts";
import type { Sim } from "./_sim.ts";
import type { RobotGrade } from "./robot_bridge.ts";

const RETRY_MS = 100;
/** Largest line of the control channel. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Numbers that are none, as Python writes them; JSON has no such words outside texts. */
const WORDS = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;

/** Reads lines of peers that write what JSON cannot say: it becomes null. */
class TolerantStream extends FramedStream {
  override async read(options?: AbortOptions): Promise<Buffer | undefined> {
    const line = await super.read(options);
    if (!line || (!line.includes("NaN") && !line.includes("Infinity"))) return line;
    return Buffer.from(String(line).replaceAll(WORDS, (word) => (word.startsWith('"') ? word : "null")));
  }
}

/**
 * Connects to the control channel of a simulator, which may still be starting.
 *
 * @throws {EnvportError} `not-ready` If nothing answers in time.
 */
export async function connectToSim(
  { host, port }: { host: string; port: number },
  { timeout, signal }: { timeout: number } & AbortOptions,
): Promise<RpcClient> {
  const until = performance.now() + timeout;
  for (;;) {
    signal?.throwIfAborted();
    const socket = connect({ ...SOCKET_OPTIONS, host, port });
    const framed = new TolerantStream(socket, { maxFrameBytes: MAX_LINE_BYTES });
    try {
      await connected(socket, Math.max(1, until - performance.now()), signal);
      return new RpcClient(framed);
    } catch (error) {
      socket.destroy();
      signal?.throwIfAborted();
      if (performance.now() + RETRY_MS > until) {
        throw new EnvportError(
          "not-ready",
          `Cannot reach simulator as nothing answers at ${host}:${String(port)} within ${String(timeout)} ms`,
          { cause: error },
        );
      }
    }
    await pause(RETRY_MS, signal);
  }
}

async function connected(socket: Socket, timeout: number, signal: AbortSignal | undefined): Promise<void> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error("timeout")), Math.min(timeout, 2 ** 31 - 1));
  const giveUp = (): void => late.abort(signal!.reason);
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await once(socket, "connect", { signal: late.signal });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

/** A simulator behind a control channel. */
export class RemoteSim implements Sim {
  readonly closed: Promise<Error | undefined>;
  readonly #rpc: RpcClient;
  readonly #locate: (capability: PublishedCapability) => PublishedCapability;
  readonly #stop: () => Promise<void>;

  /**
   * @param rpc A connection that is up.
   * @param locate Says where a capability is dialled from here.
   * @param stop Ends what is behind it; called after the connection was closed.
   */
  constructor(
    rpc: RpcClient,
    locate: (capability: PublishedCapability) => PublishedCapability,
    stop: () => Promise<void>,
  ) {
    this.#rpc = rpc;
    this.#locate = locate;
    this.#stop = stop;
    this.closed = rpc.closed.then((reason) => (reason.code === "closed" ? undefined : reason));
  }

  async capabilities(name: string): Promise<PublishedCapability[]> {
    const { capabilities } = await this.#rpc.call("capabilities", { name });
    if (!Array.isArray(capabilities))
      throw wrong("capabilities", "'capabilities' must be a list", capabilities);
    return capabilities.map((one) => this.#locate(fromManifest(one)));
  }

  async reset(args: JsonObject): Promise<ClaimedSlot> {
    const { prompt, token } = await this.#rpc.call("reset", args);
    if (typeof prompt !== "string") throw wrong("reset", "'prompt' must be text", prompt);
    if (typeof token !== "string") throw wrong("reset", "'token' must be text", token);
    return { prompt, token };
  }

  async result(token: string | null): Promise<RobotGrade> {
    const grade = await this.#rpc.call("result", { token });
    if (typeof grade["score"] !== "number")
      throw wrong("result", "'score' must be a finite number", grade["score"]);
    return grade as unknown as RobotGrade;
  }

  async release(token: string): Promise<void> {
    await this.#rpc.call("result", { token });
  }

  async stop(): Promise<void> {
    await this.#rpc.close();
    await this.#stop();
  }
}

function wrong(method: string, rule: string, value: unknown): EnvportError {
  const shown = isJsonObject(value) ? "an object" : JSON.stringify(value);
  return new EnvportError(
    "protocol-violation",
    `Cannot use the simulator's answer to ${method} as ${rule}: current value is ${shown}`,
  );
}
