/** Served bridges, and agents that say whatever a test wants. */
import { EnvportError } from "@envport/wire";
import type { PublishedCapability } from "@envport/wire";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { decode } from "./decode.ts";
import type { FrameValue } from "./encode.ts";
import { encode } from "./encode.ts";
import { NdArray } from "./nd_array.ts";
export { Counting } from "./_testing_counting.ts";
import type { RobotBridge } from "./robot_bridge.ts";
import { RobotEndpoint } from "./robot_endpoint.ts";
import type { RobotLocalOptions } from "./robot_endpoint_options.ts";

/** A started endpoint in this process, on a TCP port unless told otherwise. */
export async function serve(
  bridge: RobotBridge,
  options: RobotLocalOptions = {},
): Promise<{ endpoint: RobotEndpoint; capability: PublishedCapability; url: string }> {
  const endpoint = new RobotEndpoint(bridge, { port: 0, log: () => undefined, ...options });
  onTestFinished(() => endpoint.stop());
  const [capability] = await endpoint.start();
  return { endpoint, capability: capability!, url: capability!.url };
}

/** An agent that says what it is told to. */
export class RawAgent {
  readonly ws: WebSocket;
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #frames: (Buffer | string)[] = [];
  #wake: (() => void) | undefined;
  #gone = false;

  constructor(url: string, options: { perMessageDeflate?: boolean; origin?: string } = {}) {
    this.ws = new WebSocket(url, { perMessageDeflate: false, ...options });
    this.ws.on("message", (data, isBinary) => {
      this.#frames.push(isBinary ? (data as Buffer) : (data as Buffer).toString());
      this.#wake?.();
    });
    this.ws.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      this.ws.once("close", (code, reason) => {
        this.#gone = true;
        this.#wake?.();
        resolve({ code, reason: String(reason) });
      });
    });
    onTestFinished(() => this.ws.terminate());
  }

  /** Connects and claims; the first observation has been read. */
  static async claim(url: string, token: string | null): Promise<RawAgent> {
    const agent = new RawAgent(url);
    await agent.next();
    agent.send({ claim: token });
    await agent.observation();
    return agent;
  }

  send(frame: FrameValue | Buffer): void {
    this.ws.send(Buffer.isBuffer(frame) ? frame : encode(frame));
  }

  act(...numbers: number[]): void {
    this.send({ actions: new NdArray(Float32Array.from(numbers)) });
  }

  /** The next message: a decoded frame, a text, or undefined if there will be none. */
  async next(): Promise<FrameValue | undefined> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return typeof frame === "string" ? frame : decode(frame);
      if (this.#gone) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** The next message, which has to be a text. */
  async text(): Promise<string> {
    const frame = await this.next();
    if (typeof frame !== "string") throw new Error(`No text but ${JSON.stringify(frame)}`);
    return frame;
  }

  /** The next message, which has to be a frame. */
  async observation(): Promise<Record<string, NdArray> & { terminated: boolean }> {
    const frame = await this.next();
    if (typeof frame === "string" || frame === undefined)
      throw new Error(`No observation but ${String(frame)}`);
    return frame as unknown as Record<string, NdArray> & { terminated: boolean };
  }

  /** What has come and was not read. */
  get unread(): number {
    return this.#frames.length;
  }
}

/** Whether an error is one of ours with this code, and its message matches. */
export function isError(code: EnvportError["code"], message: RegExp = /^/): (error: unknown) => boolean {
  return (error) => error instanceof EnvportError && error.code === code && message.test(error.message);
}

/** Waits until something holds. */
export async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 1_000 && !condition(); i++) await sleep(5);
  if (!condition()) throw new Error("It never came to hold");
}

/** A TCP server that speaks as a test wants. */
export async function listen(serveOne: (socket: Socket) => void): Promise<number> {
  const server = createServer(serveOne).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
