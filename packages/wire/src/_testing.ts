import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import v8 from "node:v8";
import vm from "node:vm";
import { onTestFinished } from "vitest";
import { holdReading, isFiller } from "./_hold_reading.ts";
import { SOCKET_OPTIONS } from "./byte_stream.ts";
import { FramedStream } from "./framed_stream.ts";

/** Two ends of one connection over loopback; both are destroyed when the test ends. */
export async function socketPair(
  options: net.ServerOpts = SOCKET_OPTIONS,
): Promise<[net.Socket, net.Socket]> {
  return await connectPair(options, { host: "127.0.0.1", port: 0 });
}

/** The same over a Unix socket. */
export async function unixPair(): Promise<[net.Socket, net.Socket]> {
  const path = join(tmpdir(), `wire-${randomBytes(8).toString("hex")}.sock`);
  onTestFinished(() => rm(path, { force: true }));
  return await connectPair(SOCKET_OPTIONS, { path });
}

async function connectPair(
  options: net.ServerOpts,
  address: { host: string; port: number } | { path: string },
): Promise<[net.Socket, net.Socket]> {
  const server = net.createServer(options);
  const accepted = new Promise<net.Socket>((resolve) => server.once("connection", resolve));
  await new Promise<void>((resolve) => server.listen(address, resolve));
  const bound = server.address() as net.AddressInfo | string;
  const target = typeof bound === "string" ? { path: bound } : { host: "127.0.0.1", port: bound.port };
  const near = net.connect({ ...target, ...SOCKET_OPTIONS });
  const pair: [net.Socket, net.Socket] = [near, await accepted];
  if (near.connecting) await new Promise((resolve) => near.once("connect", resolve));
  server.close();
  for (const socket of pair) socket.on("error", () => {});
  onTestFinished(() => {
    for (const socket of pair) socket.destroy();
  });
  return pair;
}

/** Two duplexes in memory, each reading what the other is given; they have no addresses and no reset. */
export function memoryPair(): [Duplex, Duplex] {
  const ends: Duplex[] = [];
  const make = (other: () => Duplex): Duplex =>
    new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        other().push(chunk);
        done();
      },
      final(done) {
        other().push(null);
        done();
      },
    });
  ends.push(
    make(() => ends[1]!),
    make(() => ends[0]!),
  );
  return [ends[0]!, ends[1]!];
}

/** What arrives at one end of a connection, and how it ends there. */
export interface Observed {
  readonly bytes: number;
  readonly chunks: readonly Buffer[];
  /** A clean end, or a reset or another error. */
  readonly ending: Promise<"end" | "error">;
}

/**
 * Reads a socket to its end. Unlike a plain listener it never takes a reset that arrives behind data for a clean end,
 * whichever Node runs the test.
 */
export function observe(socket: net.Socket): Observed {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const ending = new Promise<"end" | "error">((resolve) => {
    socket
      .once("end", () => {
        resolve("end");
      })
      .once("close", () => {
        resolve("error");
      });
  });
  socket.on("data", (chunk: Buffer) => {
    if (isFiller(chunk)) return;
    chunks.push(chunk);
    bytes += chunk.length;
    holdReading(socket, () => socket.resume());
  });
  socket.resume();
  return {
    get bytes() {
      return bytes;
    },
    chunks,
    ending,
  };
}

/** Sends bytes and resets the connection right behind them. */
export async function sendAndReset(socket: net.Socket, bytes: number): Promise<void> {
  await new Promise<void>((resolve) => {
    socket.write(Buffer.alloc(bytes, "x"), () => {
      socket.resetAndDestroy();
      resolve();
    });
  });
}

/** Polls until something holds; fails the test after five seconds. */
export async function until(condition: () => boolean, what = "the condition"): Promise<void> {
  for (const start = Date.now(); !condition();) {
    if (Date.now() - start > 5_000) throw new Error(`Cannot go on as ${what} does not hold after 5 s`);
    await sleep(5);
  }
}

v8.setFlagsFromString("--expose-gc");
const collectGarbage = vm.runInNewContext("gc") as () => void;

/** Bytes of memory that something still refers to; not what a caller has in its own variables. */
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
    if (/^(?:TCP|Pipe|Timeout|Immediate)/.test(kind)) counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** The listeners of a stream, by event: what is left on it. */
export function listeners(stream: NodeJS.EventEmitter): Record<string, number> {
  return Object.fromEntries(stream.eventNames().map((name) => [String(name), stream.listenerCount(name)]));
}

/** The other side of a connection, spoken by hand: lines go out as they are, lines come in as they are. */
export class Peer {
  readonly socket: Duplex;
  readonly framed: FramedStream;

  constructor(socket: Duplex) {
    this.socket = socket;
    this.framed = new FramedStream(socket);
  }

  send(...lines: (string | Buffer)[]): void {
    this.socket.write(
      Buffer.concat(lines.flatMap((line) => [Buffer.from(line as string), Buffer.from("\n")])),
    );
  }

  /** The next line as text; undefined at the end of the stream. */
  async line(): Promise<string | undefined> {
    const line = await this.framed.read();
    return line === undefined ? undefined : String(line);
  }

  /** The next line, parsed. */
  async message(): Promise<Record<string, unknown>> {
    const line = await this.line();
    if (line === undefined) throw new Error("Cannot read a message as the stream has ended");
    return JSON.parse(line) as Record<string, unknown>;
  }
}
