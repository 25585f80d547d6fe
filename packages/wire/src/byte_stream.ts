import type { Duplex } from "node:stream";

/**
 * A pair of byte directions that end one by one: a `net.Socket` made with `allowHalfOpen`, or another duplex that
 * behaves like one. Every transport of the control port is handled as this.
 */
export interface ByteStream extends Duplex {
  /** Ends both directions at once and tells the other side that data is missing (TCP: RST). */
  resetAndDestroy?(): unknown;
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

/** How long a reset waits for bytes that were written before it. */
const FLUSH_MS = 2_000;

/**
 * Whether a stream that has just reported `end` was in truth reset. Node before 24 reports a reset that arrives behind
 * data as a clean end (libuv pull request 4997 cured it); the kernel then no longer knows the other side.
 *
 * `remoteAddress` is cached by Node at its first reading, so nothing may read it earlier; once our own end was sent, its
 * absence means nothing.
 *
 * @param stream The stream whose reading direction has ended.
 */
export function wasReset(stream: ByteStream): boolean {
  return stream.localPort !== undefined && !stream.writableEnded && stream.remoteAddress === undefined;
}

/**
 * Ends both directions so that the other side sees an error and not a clean end, once what was written before has
 * left, or after two seconds.
 *
 * @param stream The stream to end; one that is gone already is left alone.
 */
export function resetStream(stream: ByteStream): void {
  if (stream.destroyed) return;
  const reset = (): void => {
    clearTimeout(timer);
    if (stream.destroyed) return;
    if (stream.resetAndDestroy) stream.resetAndDestroy();
    else stream.destroy();
  };
  const timer = setTimeout(reset, FLUSH_MS).unref();
  if (stream.writableLength === 0) reset();
  else stream.once("drain", reset).once("finish", reset).once("close", reset);
}
