import { once } from "node:events";
import { rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import v8 from "node:v8";
import vm from "node:vm";
import type { JsonObject, PublishedCapability } from "@envport/wire";
import { SOCKET_OPTIONS, isJsonObject, wasReset } from "@envport/wire";
import { onTestFinished } from "vitest";
import { Environment } from "./environment.ts";
import type { LogLevel, Logger } from "./logger.ts";
import type { ServeOptions, Server } from "./serve.ts";
import { serve } from "./serve.ts";

/** A parsed frame. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into it freely
export type Frame = Record<string, any>;

/** One entry of a {@linkcode RecordingLogger}. */
export interface LogEntry {
  level: LogLevel;
  message: string;
  fields: Record<string, unknown>;
}

/** A logger that keeps what it is told. */
export class RecordingLogger implements Logger {
  readonly entries: LogEntry[] = [];

  log(level: LogLevel, message: string, fields: Record<string, unknown> = {}): void {
    this.entries.push({ level, message, fields });
  }

  /** Messages of entries at or above `warn`. */
  get complaints(): string[] {
    return this.entries
      .filter(({ level }) => level !== "debug" && level !== "info")
      .map(({ message }) => message);
  }
}

/** Options of {@linkcode served}. */
export interface ServedOptions extends ServeOptions {
  logger?: Logger | undefined;
}

/** Serves an environment until the test ends; the log is kept unless another logger is given. */
export async function served(
  env: Environment = new Environment(),
  options: ServedOptions = {},
): Promise<{ server: Server; log: RecordingLogger; connect(): Promise<LineClient> }> {
  const log = new RecordingLogger();
  const server = await serve(env, { logger: log, ...options });
  onTestFinished(() => server.close());
  return { server, log, connect: () => LineClient.connect(server.port) };
}

/** Something that a test opens when it likes. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** Bytes that arrive in chunks, joined only when somebody looks. */
class Bytes {
  #chunks: Buffer[] = [];

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  get all(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!;
  }
}

/** A client that speaks lines over a raw socket; it is destroyed when the test ends. */
export class LineClient {
  readonly socket: net.Socket;
  /** Frames that nobody has taken yet. */
  readonly frames: Frame[] = [];
  /** How the server's direction ended. */
  readonly ended: Promise<"end" | "reset">;
  readonly #bytes = new Bytes();
  /** Pieces of a line whose end has not come. */
  #line: Buffer[] = [];
  #id = 0;
  #closed = false;
  #wake: (() => void)[] = [];

  constructor(socket: net.Socket) {
    this.socket = socket;
    this.ended = new Promise((resolve) => {
      socket.once("end", () => resolve(endOf(socket))).once("close", () => resolve("reset"));
    });
    socket
      .on("data", (chunk) => this.#take(chunk))
      .on("error", () => {})
      .on("end", () => this.#finish())
      .on("close", () => this.#finish());
  }

  static async connect(port: number, host = "127.0.0.1"): Promise<LineClient> {
    const socket = net.connect({ port, host, ...SOCKET_OPTIONS });
    const client = new LineClient(socket);
    await once(socket, "connect");
    onTestFinished(() => void socket.destroy());
    return client;
  }

  /** Everything that has arrived. */
  get received(): Buffer {
    return this.#bytes.all;
  }

  #take(chunk: Buffer): void {
    this.#bytes.push(chunk);
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...this.#line, chunk.subarray(start, end)]).toString();
      this.#line = [];
      start = end + 1;
      if (line.startsWith("{")) this.frames.push(JSON.parse(line) as Frame);
    }
    if (start < chunk.length) this.#line.push(chunk.subarray(start));
    this.#notify();
  }

  #finish(): void {
    this.#closed = true;
    this.#notify();
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** Sends values as one line each, in one packet; strings and bytes go out as they are. */
  send(...lines: (object | string | Buffer)[]): void {
    const parts = lines.flatMap((line) => [
      Buffer.isBuffer(line) ? line : Buffer.from(typeof line === "string" ? line : JSON.stringify(line)),
      Buffer.from("\n"),
    ]);
    this.socket.write(Buffer.concat(parts));
  }

  /** Takes the first frame that fits; undefined once the connection has ended without one. */
  async take(fits: (frame: Frame) => boolean = () => true): Promise<Frame | undefined> {
    for (;;) {
      const index = this.frames.findIndex(fits);
      if (index >= 0) return this.frames.splice(index, 1)[0];
      if (this.#closed) return undefined;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** The next frame, whatever it is. */
  async next(): Promise<Frame> {
    const frame = await this.take();
    if (!frame) throw new Error("Cannot read a frame as the connection has ended");
    return frame;
  }

  /** Sends a request and returns the id that its reply will carry. */
  request(method: string, params?: unknown): number {
    const id = ++this.#id;
    this.send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
    return id;
  }

  /** The reply to a request. */
  async reply(id: number | string): Promise<Frame> {
    const frame = await this.take((candidate) => candidate["id"] === id);
    if (!frame) throw new Error(`Cannot read the reply to ${String(id)} as the connection has ended`);
    return frame;
  }

  async call(method: string, params?: unknown): Promise<Frame> {
    return await this.reply(this.request(method, params));
  }

  /** The result of a call that must succeed. */
  async result(method: string, params?: unknown): Promise<Frame> {
    const frame = await this.call(method, params);
    if (!isJsonObject(frame["result"])) throw new Error(`${method} failed: ${JSON.stringify(frame)}`);
    return frame["result"];
  }

  /** The error of a call that must fail. */
  async error(method: string, params?: unknown): Promise<Frame> {
    const frame = await this.call(method, params);
    if (!isJsonObject(frame["error"])) throw new Error(`${method} did not fail: ${JSON.stringify(frame)}`);
    return frame["error"];
  }

  /** The session's id. */
  async hello(params: JsonObject = {}): Promise<string> {
    return (await this.result("hello", params))["session_id"] as string;
  }

  /** Ends this direction only. */
  end(): void {
    this.socket.end();
  }

  /** Closes both directions: FIN, as a program that ends does it. */
  destroy(): void {
    this.socket.destroy();
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** The bytes behind the first line: the stream of a tunnel. */
  get stream(): Buffer {
    return this.received.subarray(this.received.indexOf(10) + 1);
  }
}

/** Node before 26 reports a reset behind data as an end. */
function endOf(socket: net.Socket): "end" | "reset" {
  return wasReset(socket) ? "reset" : "end";
}

/** Ways in which a client goes away. */
export const DROPS = [
  ["FIN", (client: LineClient) => client.destroy()],
  ["RST", (client: LineClient) => client.reset()],
] as const;

/** What a daemon saw of one connection. */
export class DaemonConnection {
  readonly socket: net.Socket;
  readonly ended: Promise<"end" | "reset">;
  readonly #bytes = new Bytes();

  constructor(socket: net.Socket) {
    this.socket = socket;
    this.ended = new Promise((resolve) => {
      socket.once("end", () => resolve(endOf(socket))).once("close", () => resolve("reset"));
    });
    socket.on("error", () => {}).on("data", (chunk) => this.#bytes.push(chunk));
  }

  get received(): Buffer {
    return this.#bytes.all;
  }
}

/** A fake daemon on a port of its own, or on a unix socket, until the test ends. */
export class Daemon {
  readonly connections: DaemonConnection[] = [];
  readonly #server: net.Server;
  readonly #onConnection: (connection: DaemonConnection) => void;

  constructor(onConnection: (connection: DaemonConnection) => void = () => {}) {
    this.#onConnection = onConnection;
    this.#server = net.createServer(SOCKET_OPTIONS, (socket) => {
      const connection = new DaemonConnection(socket);
      this.connections.push(connection);
      this.#onConnection(connection);
    });
  }

  static async listen(
    onConnection?: (connection: DaemonConnection) => void,
    address: net.ListenOptions = { host: "127.0.0.1", port: 0 },
  ): Promise<Daemon> {
    const daemon = new Daemon(onConnection);
    daemon.#server.listen(address);
    await once(daemon.#server, "listening");
    onTestFinished(() => daemon.close());
    return daemon;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  capability(name = "echo"): PublishedCapability {
    return { name, protocol: "tcp/1", url: `tcp://127.0.0.1:${String(this.port)}`, params: {} };
  }

  /** The first connection, once it is there. */
  async connection(index = 0): Promise<DaemonConnection> {
    await until(() => this.connections.length > index, "a connection to the daemon");
    return this.connections[index]!;
  }

  close(): void {
    this.#server.close();
    for (const { socket } of this.connections) socket.destroy();
  }
}

/** A path for a unix socket, removed when the test ends. */
export function socketPath(): string {
  const path = join(tmpdir(), `server-${Math.random().toString(36).slice(2)}.sock`);
  onTestFinished(() => rm(path, { force: true }));
  return path;
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Waits until the server has seen that a client is gone. Of an end nothing shows while a call is running, and a busy
 * process fires late timers before it looks at its sockets.
 */
export async function noticed(): Promise<void> {
  await sleep(20);
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}

/** Polls until something holds; fails the test after ten seconds. */
export async function until(condition: () => boolean, what = "the condition"): Promise<void> {
  for (const start = performance.now(); !condition();) {
    if (performance.now() - start > 10_000)
      throw new Error(`Cannot go on as ${what} does not hold after 10 s`);
    await sleep(2);
  }
}

v8.setFlagsFromString("--expose-gc");
const collectGarbage = vm.runInNewContext("gc") as () => void;

/** Bytes of memory that something still refers to. */
export async function heldMemory(): Promise<number> {
  // Array buffers are given back in the background.
  for (let i = 0; i < 3; i++) {
    collectGarbage();
    await sleep(10);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Timers and sockets that are alive in this process, by kind. */
export function liveResources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    if (/^(?:TCP|Pipe|Timeout|Immediate|Process)/.test(kind)) counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** What a {@linkcode trackedEnvironment} notes of its tasks. */
export interface Track {
  env: Environment;
  /** In order: `start 1`, `grade 1 x`, `end 1`, `hook sess-…`. */
  events: string[];
  /** Lets the tasks of that number go on, where they were told to wait. */
  gates: Map<number, Gate>;
}

/**
 * An environment whose task `work` tells what becomes of it: it yields `go:<k>` and scores `k + 0.5`. With `hold` it waits
 * for its gate: in its start, grade or clean-up.
 */
export function trackedEnvironment(): Track {
  const env = new Environment({ name: "tracked", version: "1.2.3" });
  const events: string[] = [];
  const gates = new Map<number, Gate>();
  const openArgs = passThrough();
  const pass = async (k: number, hold: unknown, place: string, signal: AbortSignal): Promise<void> => {
    events.push(`${place} ${String(k)}`);
    if (hold !== place) return;
    const aborted = new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error)),
    );
    aborted.catch(() => {});
    await Promise.race([gates.get(k)!.opened, ...(place === "end" ? [] : [aborted])]);
  };
  env.template("work", { args: openArgs }).run(async function* (args, ctx) {
    const { k, hold } = args as { k: number; hold?: string };
    if (hold) gates.set(k, gates.get(k) ?? gate());
    try {
      await pass(k, hold, "start", ctx.signal);
      const answer = yield `go:${String(k)}`;
      await pass(k, hold, "grade", ctx.signal);
      if (answer === "throw") throw new Error("the grader failed");
      yield k + 0.5;
    } finally {
      await pass(k, hold, "end", ctx.signal);
    }
  });
  env.template("throws").run(async function* () {
    events.push("throws");
    throw new Error("on purpose");
  });
  env.onTaskEnd((session) => void events.push(`hook ${session}`));
  return { env, events, gates };
}

/** A {@linkcode trackedEnvironment} that is served. */
export interface Stage extends Track {
  server: Server;
  log: RecordingLogger;
  connect(): Promise<LineClient>;
  /** Starts task `k` on a fresh connection, which then goes away; returns the id under which it is parked. */
  park(k: number, drop?: (client: LineClient) => void): Promise<string>;
}

export async function stage(options: ServeOptions = {}): Promise<Stage> {
  const track = trackedEnvironment();
  const { server, log, connect } = await served(track.env, options);
  const park = async (k: number, drop = (client: LineClient): void => client.destroy()): Promise<string> => {
    const client = await connect();
    const session = await client.hello();
    await client.result("tasks.start", work(k));
    const { parked } = server.stats().sessions;
    drop(client);
    await until(() => server.stats().sessions.parked === parked + 1, "the session being parked");
    return session;
  };
  return { ...track, server, log, connect, park };
}

/** The params that start task `k`, which waits where `hold` says. */
export function work(k: number, hold?: "start" | "grade" | "end"): object {
  return { id: "work", args: hold ? { k, hold } : { k } };
}

/** What a grade fails with that has nothing to grade. */
export const NO_TASK = { code: -32600, message: "no task in progress", data: { type: "no-task" } };

/** A schema that takes any object as it is, made by hand: the server knows Standard Schema, not a library. */
export function passThrough(): {
  readonly "~standard": {
    version: 1;
    vendor: "test";
    validate: (value: unknown) => { value: JsonObject };
    jsonSchema: { input: () => JsonObject; output: () => JsonObject };
    types?: { input: JsonObject; output: JsonObject };
  };
} {
  const schema = (): JsonObject => ({ type: "object", additionalProperties: {} });
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => ({ value: value as JsonObject }),
      jsonSchema: { input: schema, output: schema },
    },
  };
}
