import { Duplex } from "node:stream";
import type { ByteStream } from "./byte_stream.ts";

/** What is needed of a WebSocket: what the package `ws` has, on both sides. */
export interface WebSocketLike {
  send(data: Uint8Array, options: { binary: boolean }, callback: (error?: Error | null) => void): void;
  close(code?: number): void;
  terminate(): void;
  pause(): void;
  resume(): void;
  ping(): void;
  on(event: "message", listener: (data: Buffer, isBinary: boolean) => void): unknown;
  on(event: "close", listener: (code: number) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "pong", listener: () => void): unknown;
}

/** Options of {@linkcode WebSocketStream}. */
export interface WebSocketStreamOptions {
  /**
   * How often the other side is asked whether it is there, in milliseconds; one that has not answered the question before
   * is given up. It also keeps proxies from closing an idle connection.
   *
   * @default {25000}
   */
  pingInterval?: number | undefined;
}

const NEWLINE = Buffer.from("\n");
const EOF = new Uint8Array(0);
const NORMAL_CLOSURE = 1000;
/** How long the other side may take to answer a close, in milliseconds. */
const CLOSE_MS = 2_000;

/**
 * A WebSocket as the byte stream of a control port's connection (CONN-5).
 *
 * ```text
 * text message     one frame or more
 * binary message   bytes of a capability stream, after the reply to `tunnel.open`; in a session, of frames in any pieces
 * ""               the end of the sender's direction, since a WebSocket has no half-close
 * close            with 1000: the end of both directions; with another code, or none: a reset
 * ```
 *
 * @example
 * ```ts no-run
 * import { WebSocketStream } from "@envport/wire";
 * import { WebSocketServer } from "ws";
 *
 * const server = new WebSocketServer({ port: 8765, perMessageDeflate: false });
 * server.on("connection", (socket) => new WebSocketStream(socket).pipe(process.stdout));
 * ```
 */
export class WebSocketStream extends Duplex implements ByteStream {
  readonly #socket: WebSocketLike;
  readonly #pings: NodeJS.Timeout;
  #sendsBytes = false;
  /** Bytes of frames that were written before `beginBytes` and wait to be sent. */
  #frameBytes = 0;
  #inFlight = 0;
  #gotBytes = false;
  #gotEnd = false;
  #isClosed = false;
  #answered = true;

  /**
   * @param socket A WebSocket that is open and has emitted no message yet.
   * @param options How it is kept alive.
   */
  constructor(socket: WebSocketLike, { pingInterval = 25_000 }: WebSocketStreamOptions = {}) {
    super();
    this.#socket = socket;
    socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", (code) => this.#closed(code));
    socket.on("pong", () => (this.#answered = true));
    this.#pings = setInterval(() => this.#ping(), pingInterval).unref();
  }

  /** From now on what is written goes out as bytes of a stream, no longer as frames. */
  beginBytes(): void {
    if (this.#sendsBytes) return;
    this.#sendsBytes = true;
    this.#frameBytes = this.writableLength - this.#inFlight;
  }

  /** Cuts the connection: the other side sees a reset. */
  resetAndDestroy(): void {
    this.#socket.terminate();
    this.destroy();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    const binary = this.#sendsBytes && this.#frameBytes === 0;
    if (this.#sendsBytes && !binary) this.#frameBytes -= chunk.length;
    this.#inFlight = chunk.length;
    this.#socket.send(chunk, { binary }, (error) => {
      this.#inFlight = 0;
      callback(error);
    });
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.#isClosed) callback();
    else this.#socket.send(EOF, { binary: false }, callback);
  }

  override _read(): void {
    if (!this.#isClosed) this.#socket.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearInterval(this.#pings);
    if (error === null && this.#gotEnd && this.writableFinished) {
      this.#socket.resume();
      this.#socket.close(NORMAL_CLOSURE);
      if (!this.#isClosed) setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref();
    } else {
      this.#socket.terminate();
    }
    callback(error);
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#gotEnd || this.destroyed) return;
    if (!isBinary && data.length === 0) {
      this.#end();
      return;
    }
    if (!isBinary && this.#gotBytes) {
      this.destroy(new Error("a text message came where bytes of a stream were due"));
      return;
    }
    this.#gotBytes = isBinary;
    const isLine = !isBinary && data.at(-1) !== NEWLINE[0];
    if (!this.push(isLine ? Buffer.concat([data, NEWLINE]) : data)) this.#socket.pause();
  }

  #end(): void {
    this.#gotEnd = true;
    this.push(null);
  }

  #closed(code: number): void {
    this.#isClosed = true;
    clearInterval(this.#pings);
    if (code === NORMAL_CLOSURE) {
      if (!this.#gotEnd) this.#end();
      // Nothing more can be sent: what the reader has not read yet it still can.
      if (!this.writableFinished) this.end();
    } else if (!this.#gotEnd || !this.writableFinished) {
      this.destroy(
        Object.assign(new Error("the WebSocket was closed without an end"), { code: "ECONNRESET" }),
      );
    }
  }

  #ping(): void {
    if (!this.#answered) {
      this.resetAndDestroy();
      return;
    }
    this.#answered = false;
    this.#socket.ping();
  }
}
