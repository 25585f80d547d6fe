import type { ByteStream } from "./byte_stream.ts";
import { resetStream, wasReset } from "./byte_stream.ts";

/** Options of {@linkcode splice}. */
export interface SpliceOptions {
  /**
   * Once one direction has ended, how long the other may stay silent before both streams are reset, in milliseconds;
   * 0 = for ever (TUN-3).
   *
   * @default {120000}
   */
  halfCloseTimeout?: number | undefined;
  /** Bytes that were read from the first stream before the splice and belong to the second (FRAME-3). */
  head?: Uint8Array | undefined;
  /**
   * The first stream's reading direction has already ended, after `head`.
   *
   * @default {false}
   */
  ended?: boolean | undefined;
}

/** Two streams that are being piped into each other. */
export interface Splice {
  /** Bytes taken from the first stream, `head` included. */
  readonly bytesForth: number;
  /** Bytes taken from the second stream. */
  readonly bytesBack: number;
  /** Resolves once both streams are closed; never rejects, however they ended. */
  readonly closed: Promise<void>;
  /** Resets both streams at once. */
  abort(): void;
}

/** One of the two directions. */
interface Direction {
  from: ByteStream;
  to: ByteStream;
  bytes: number;
  ended: boolean;
}

/**
 * Pipes two byte streams into each other until both directions have ended (TUN-3, TUN-4).
 *
 * ```text
 * EOF on one side    the other side's writing direction ends; the way back keeps flowing
 * reset on one side  the other side is reset, after the bytes that came before
 * a slow reader      pauses the sender: at most one chunk over the high-water mark is held
 * ```
 *
 * Neither stream may have listeners that read from it; both may be paused.
 *
 * @param first One stream.
 * @param second The other.
 * @param options What was read before, and the time-out of a half-closed pair.
 *
 * @example
 * ```ts
 * import { splice } from "@envport/wire";
 * import net from "node:net";
 *
 * const proxy = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
 *   splice(socket, net.connect({ port: 5900, allowHalfOpen: true }));
 * });
 * proxy.listen(0, "127.0.0.1", () => proxy.close());
 * ```
 */
export function splice(first: ByteStream, second: ByteStream, options: SpliceOptions = {}): Splice {
  const { halfCloseTimeout = 120_000, head, ended = false } = options;
  const forth: Direction = { from: first, to: second, bytes: 0, ended: false };
  const back: Direction = { from: second, to: first, bytes: 0, ended: false };
  const abort = (): void => {
    for (const stream of [first, second]) if (!stream.destroyed) (stream.resetAndDestroy ?? stream.destroy).call(stream);
  };
  const reaper = new HalfCloseReaper(halfCloseTimeout, abort);
  const closed = Promise.all([connect(forth, reaper), connect(back, reaper)]).then(() => {
    reaper.stop();
  });
  if (head?.length) push(forth, head);
  if (ended) end(forth, reaper);
  else if (!second.writableNeedDrain) first.resume();
  second.resume();
  return {
    get bytesForth() {
      return forth.bytes;
    },
    get bytesBack() {
      return back.bytes;
    },
    closed,
    abort,
  };
}

/** Listens on one direction; resolves once its source is closed. */
function connect(direction: Direction, reaper: HalfCloseReaper): Promise<void> {
  const { from, to } = direction;
  from.on("data", (chunk: Buffer) => {
    push(direction, chunk);
    reaper.refresh();
  });
  to.on("drain", () => {
    from.resume();
    reaper.refresh();
  });
  from.once("end", () => {
    if (wasReset(from)) from.destroy();
    else end(direction, reaper);
  });
  from.on("error", () => {
    // What follows is `close`, which passes it on.
  });
  return new Promise((resolve) => {
    const closed = (): void => {
      if (!direction.ended || from.errored) resetStream(to);
      resolve();
    };
    if (from.closed) closed();
    else from.once("close", closed);
  });
}

function push(direction: Direction, chunk: Uint8Array): void {
  direction.bytes += chunk.length;
  if (!direction.to.destroyed && !direction.to.write(chunk)) direction.from.pause();
}

function end(direction: Direction, reaper: HalfCloseReaper): void {
  direction.ended = true;
  if (!direction.to.destroyed) direction.to.end();
  reaper.directionEnded();
}

/**
 * Resets a pair of which one direction has ended while the other is silent: after its EOF a socket is no longer polled,
 * so a reset that follows would never be seen (libuv issue 3449).
 */
class HalfCloseReaper {
  readonly #timeout: number;
  readonly #reap: () => void;
  #timer: NodeJS.Timeout | undefined;
  #ended = 0;

  constructor(timeout: number, reap: () => void) {
    this.#timeout = timeout;
    this.#reap = reap;
  }

  directionEnded(): void {
    this.#ended++;
    if (this.#ended === 1 && this.#timeout > 0) this.#timer = setTimeout(this.#reap, this.#timeout).unref();
    else this.stop();
  }

  refresh(): void {
    this.#timer?.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
