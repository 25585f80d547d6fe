import type { Duplex } from "node:stream";

/**
 * A pair of byte directions that end one by one: a `net.Socket` made with `allowHalfOpen`, or another duplex that
 * behaves like one. Every transport of the control port is handled as this.
 */
export interface ByteStream extends Duplex {
  /**
   * Ends both directions at once and tells the other side that data is missing (TCP: RST). A transport whose streams
   * are not plain TCP sockets adds its own; without one, {@linkcode resetStream} can only destroy the stream.
   */
  resetAndDestroy?(): unknown;
  /**
   * Transports of messages only: from now on what is written is no longer frames, but bytes of a capability stream
   * (CONN-5). {@linkcode FramedStream.release} calls it.
   */
  beginBytes?(): void;
  /** TCP only: undefined once the connection is no more. */
  readonly remoteAddress?: string | undefined;
  /** TCP only. */
  readonly localPort?: number | undefined;
}

/** How every TCP leg is opened, listening or dialling (TUN-5). */
export const SOCKET_OPTIONS = {
  allowHalfOpen: true,
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
  noDelay: true,
} as const;

/** Options of {@linkcode resetStream}. */
export interface ResetStreamOptions {
  /**
   * How long bytes that were written before may take to leave, in milliseconds; 0 = they are dropped.
   *
   * @default {2000}
   */
  flushTimeout?: number | undefined;
}

/** How often a reset that waits looks whether everything has left: Node tells of it only above the high-water mark. */
const POLL_MS = 10;
const NOTHING = Buffer.alloc(0);

/**
 * Whether a TCP stream that has just reported `end`, or seems open, was in truth reset. A reset that arrives behind data
 * is reported as a clean end by Node up to 24 (libuv pull request 4997 cured it). A write of no bytes sends nothing, but
 * is refused at once where the connection is gone; `error` and `close` then follow.
 *
 * On a stream that is no TCP connection, or whose own direction has ended, the answer is always false.
 *
 * @param stream A stream with a listener for `error`.
 *
 * @example
 * ```ts
 * import { SOCKET_OPTIONS, wasReset } from "@envport/wire";
 * import net from "node:net";
 *
 * const server = net.createServer(SOCKET_OPTIONS, (socket) => {
 *   socket.on("error", () => {}).on("end", () => {
 *     if (!wasReset(socket)) socket.end();
 *   });
 *   socket.resume();
 * });
 * server.listen(0, "127.0.0.1", () => server.close());
 * ```
 */
export function wasReset(stream: ByteStream): boolean {
  if (stream.localPort === undefined || !stream.writable) return false;
  // Behind other bytes the probe would wait for them, and TLS keeps it to itself.
  if (stream.writableLength === 0) stream.write(NOTHING);
  // Node caches the address: a connection that is gone still has it if anybody has asked before.
  return stream.errored !== null || stream.remoteAddress === undefined;
}

/**
 * Ends both directions so that the other side sees an error and not a clean end, once what was written before has
 * left. A Unix socket has no such thing as a reset: it is destroyed.
 *
 * @param stream The stream to end; one that is gone already is left alone.
 * @param options How long to wait for what was written.
 *
 * @example
 * ```ts
 * import { resetStream } from "@envport/wire";
 * import net from "node:net";
 *
 * const server = net.createServer((socket) => resetStream(socket));
 * server.listen(0, "127.0.0.1", () => server.close());
 * ```
 */
export function resetStream(stream: ByteStream, options: ResetStreamOptions = {}): void {
  const deadline = Date.now() + (options.flushTimeout ?? 2_000);
  const flushed = (): boolean => stream.destroyed || stream.writableLength === 0 || Date.now() >= deadline;
  if (flushed()) {
    resetNow(stream);
    return;
  }
  const timer = setInterval(() => {
    if (!flushed()) return;
    clearInterval(timer);
    resetNow(stream);
  }, POLL_MS).unref();
}

function resetNow(stream: ByteStream): void {
  if (stream.destroyed) return;
  try {
    stream.resetAndDestroy?.();
  } catch {
    // Node's own method refuses everything that is not plain TCP.
  }
  // While a socket connects, that would wait for the connection only to reset it.
  stream.destroy();
}
