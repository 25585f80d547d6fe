/** Servers to test the client against: a real one, and one that a script makes say anything. */
import { Environment, serve } from "@envport/server";
import type { ServeOptions, Server } from "@envport/server";
import { FramedStream, SOCKET_OPTIONS, parseFrame } from "@envport/wire";
import type { JsonObject, Logger } from "@envport/wire";
import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { connect } from "./connect.ts";
import type { Client } from "./client.ts";
import type { ConnectOptions } from "./connect.ts";

export const SESSION_ID = "sess-00112233445566778899aabbccddeeff";
/** The reply to `hello` of a server that knows the base contract only, as the Python peer does. */
export const OLD_HELLO = { session_id: SESSION_ID, env: { name: "fake", version: "1" }, bindings: [] };
/** The same of one that can do what ours can. */
export const HELLO = {
  ...OLD_HELLO,
  protocol: "envport/1",
  capabilities: { cancel: true, ping: true, progress: true, replay: true, takeover: true },
};

/** A request as the fake server read it. */
export interface Frame extends JsonObject {
  id: number;
  method: string;
  params: JsonObject;
}

/** One connection to a fake server, for its script to misbehave on. */
export class FakeConnection {
  readonly socket: net.Socket;
  readonly #framed: FramedStream;

  constructor(socket: net.Socket) {
    this.socket = socket;
    this.#framed = new FramedStream(socket);
  }

  /** The next frame; undefined once the client has left. */
  async next(): Promise<Frame | undefined> {
    const line = await this.#framed.read().catch(() => undefined);
    if (!line) this.socket.end();
    return line && (parseFrame(line) as Frame);
  }

  /** The next frame, which must be of a method. */
  async expect(method: string): Promise<Frame> {
    const frame = await this.next();
    assert.equal(frame?.method, method);
    return frame;
  }

  /** Sends frames in one packet. */
  send(...frames: object[]): void {
    this.socket.write(frames.map((frame) => `${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`).join(""));
  }

  reply({ id }: Frame, result: unknown): void {
    this.send({ id, result });
  }

  fail({ id }: Frame, code: number, message: string): void {
    this.send({ id, error: { code, message } });
  }

  /** Answers the hello that must come first. */
  async hello(result: object = HELLO): Promise<Frame> {
    const frame = await this.expect("hello");
    this.reply(frame, result);
    return frame;
  }

  /** Answers what comes with empty results until the client leaves. */
  async serve(answers: Record<string, unknown> = {}): Promise<Frame[]> {
    const frames: Frame[] = [];
    for (let frame = await this.next(); frame; frame = await this.next()) {
      frames.push(frame);
      this.reply(frame, answers[frame.method] ?? {});
    }
    return frames;
  }

  /** Resolves once the client has left; what it still sends is dropped. */
  async gone(): Promise<void> {
    while (await this.next());
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }
}

export interface FakeServer {
  readonly url: string;
  readonly port: number;
  /** Every connection so far. */
  readonly connections: readonly FakeConnection[];
  /** Stops listening and drops what is connected. */
  stop(): Promise<void>;
}

/** Starts a server whose connections follow a script; what the script throws fails the test. */
export async function fakeServer(
  script: (connection: FakeConnection, index: number) => unknown,
  { port = 0 } = {},
): Promise<FakeServer> {
  const connections: FakeConnection[] = [];
  const scripts: Promise<unknown>[] = [];
  const listener = net.createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) => {
    socket.on("error", () => {});
    const connection = new FakeConnection(socket);
    connections.push(connection);
    const run = Promise.resolve(script(connection, connections.length - 1));
    run.catch(() => {});
    scripts.push(run);
  });
  await listening(listener, port);
  const stop = async (): Promise<void> => {
    for (const { socket } of connections) socket.destroy();
    if (listener.listening) await new Promise((resolve) => listener.close(resolve));
  };
  onTestFinished(async () => {
    await stop();
    await Promise.all(scripts);
  });
  const bound = portOf(listener);
  return { url: `tcp://127.0.0.1:${bound}`, port: bound, connections, stop };
}

/** A daemon behind a binding; its sockets are half-open ones. */
export async function daemon(
  onConnection: (socket: net.Socket) => void,
  { port = 0 } = {},
): Promise<{ port: number; sockets: net.Socket[] }> {
  const sockets: net.Socket[] = [];
  const listener = net.createServer(SOCKET_OPTIONS, (socket) => {
    sockets.push(socket.on("error", () => {}));
    onConnection(socket);
  });
  await listening(listener, port);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => listener.close(resolve));
  });
  return { port: portOf(listener), sockets };
}

async function listening(listener: net.Server, port: number): Promise<void> {
  listener.listen(port, "127.0.0.1");
  await once(listener, "listening");
}

function portOf(listener: net.Server): number {
  return (listener.address() as net.AddressInfo).port;
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const listener = net.createServer();
  await listening(listener, 0);
  const port = portOf(listener);
  await new Promise((resolve) => listener.close(resolve));
  return port;
}

/** A logger that keeps what it is told. */
export function memoryLogger(): Logger & { entries: { level: string; message: string; fields: unknown }[] } {
  const entries: { level: string; message: string; fields: unknown }[] = [];
  return { entries, log: (level, message, fields) => void entries.push({ level, message, fields }) };
}

/** Serves an environment for the time of a test. */
export async function served(env: Environment, options: ServeOptions = {}): Promise<Server> {
  const server = await serve(env, { logger: memoryLogger(), ...options });
  onTestFinished(() => server.close());
  return server;
}

/** An environment with a task that scores 1 for the answer "right", and counts what it runs. */
export function quiz(): { env: Environment; log: string[] } {
  const log: string[] = [];
  const env = new Environment({ name: "quiz", version: "1.2.3" });
  env.template("ask").run(async function* () {
    log.push("start");
    try {
      const answer = yield "Which?";
      log.push(`grade ${answer}`);
      yield answer === "right" ? 1 : 0;
    } finally {
      log.push("end");
    }
  });
  return { env, log };
}

/** A client for the time of a test, quiet and impatient. */
export async function connected(url: string, options: ConnectOptions = {}): Promise<Client> {
  const client = await connect(url, { logger: memoryLogger(), readyTimeout: 5_000, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** What a promise settles to, as text, for tests of order. */
export function noted(log: string[], name: string, promise: Promise<unknown>): Promise<void> {
  return promise.then(
    () => void log.push(`${name} ok`),
    (error: unknown) => void log.push(`${name} ${codeOf(error)}`),
  );
}

/** The code of an error of ours, or its name. */
export function codeOf(error: unknown): string {
  const { code, name } = error as { code?: string | number; name: string };
  return String(code ?? name);
}

/** What a promise is rejected with. */
export async function rejection(
  promise: Promise<unknown>,
): Promise<Error & { code?: unknown; data?: unknown }> {
  const error = await promise.then(
    (value) => new assert.AssertionError({ message: `resolved to ${JSON.stringify(value)}` }),
    (reason: unknown) => reason,
  );
  if (error instanceof assert.AssertionError) throw error;
  return error as Error;
}

/** Waits until something holds. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`It does not hold within 10 s: ${what}`);
    await sleep(5);
  }
}

export interface Relay {
  readonly url: string;
  /** Ends every connection on both sides. */
  cut(): void;
  /** From now on nothing passes over the connections that are open, and neither side is told when the other leaves. */
  freeze(): void;
  /** The same for what the server says only. */
  mute(): void;
}

/** A link to a server that can fail: a port whose connections are passed on. */
export async function relay(port: number): Promise<Relay> {
  const links: { near: net.Socket; far: net.Socket; muted: boolean; frozen: boolean }[] = [];
  const listener = net.createServer({ allowHalfOpen: true }, (near) => {
    const link = {
      near,
      far: net.connect({ port, host: "127.0.0.1", allowHalfOpen: true }),
      muted: false,
      frozen: false,
    };
    links.push(link);
    for (const [from, to] of [
      [near, link.far],
      [link.far, near],
    ] as const) {
      const silent = (): boolean => link.frozen || (link.muted && to === near);
      from.on("error", () => {}).on("data", (chunk) => silent() || to.write(chunk));
      from.on("end", () => silent() || to.end()).on("close", () => link.frozen || to.destroy());
    }
  });
  await listening(listener, 0);
  const cut = (): void => {
    for (const { near, far } of links) {
      near.destroy();
      far.destroy();
    }
  };
  onTestFinished(async () => {
    cut();
    await new Promise((resolve) => listener.close(resolve));
  });
  const mark = (change: { muted: true } | { frozen: true }): void => {
    for (const link of links) Object.assign(link, change);
  };
  return {
    url: `tcp://127.0.0.1:${portOf(listener)}`,
    cut,
    freeze: () => mark({ frozen: true }),
    mute: () => mark({ muted: true }),
  };
}
