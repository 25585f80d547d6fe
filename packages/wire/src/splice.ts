import { HalfCloseReaper } from "./_half_close_reaper.ts";
import { holdReading, isFiller, mayHideReset } from "./_hold_reading.ts";
import type { ByteStream } from "./byte_stream.ts";
import { resetStream, wasReset } from "./byte_stream.ts";
import type { ReleasedStream } from "./framed_stream.ts";

/** Options of {@linkcode splice}. */
export interface SpliceOptions {
  /**
   * Once one direction has ended, how long the other may stay silent before both streams are reset, in milliseconds;
   * 0 = for ever (TUN-3).
   *
   * @default {120000}
   */
  halfCloseTimeout?: number | undefined;
}

/** Two streams that are being piped into each other. */
export interface Splice {
  /** Bytes taken from the first stream, its `head` included. */
  readonly bytesForth: number;
  /** Bytes taken from the second stream, its `head` included. */
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
 * Neither stream may have listeners that read from it; both may be paused. What was read from a stream before, as
 * {@linkcode FramedStream.release} hands it over, belongs to the other one (FRAME-3).
 *
 * @param first One stream.
 * @param second The other.
 * @param options The time-out of a half-closed pair.
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
export function splice(
  first: ByteStream | ReleasedStream,
  second: ByteStream | ReleasedStream,
  options: SpliceOptions = {},
): Splice {
  const [a, b] = [released(first), released(second)];
  const forth: Direction = { from: a.stream, to: b.stream, bytes: 0, ended: false };
  const back: Direction = { from: b.stream, to: a.stream, bytes: 0, ended: false };
  const abort = (): void => {
    for (const { stream } of [a, b]) resetStream(stream, { flushTimeout: 0 });
  };
  const reaper = new HalfCloseReaper(options.halfCloseTimeout ?? 120_000, abort);
  const closed = Promise.all([connect(forth, back, reaper), connect(back, forth, reaper)]).then(() => {
    reaper.stop();
  });
  begin(forth, a, reaper);
  begin(back, b, reaper);
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

function released(stream: ByteStream | ReleasedStream): ReleasedStream {
  return "stream" in stream ? stream : { stream, head: Buffer.alloc(0), ended: stream.readableEnded };
}

/** Passes on what was read before, and starts reading. */
function begin(direction: Direction, { stream, head, ended }: ReleasedStream, reaper: HalfCloseReaper): void {
  if (head.length > 0) push(direction, head);
  if (ended) end(direction, reaper);
  else if (!direction.to.writableNeedDrain) stream.resume();
}

/** Listens on one direction; resolves once its source is closed. */
function connect(direction: Direction, reverse: Direction, reaper: HalfCloseReaper): Promise<void> {
  const { from, to } = direction;
  const resume = (): void => {
    if (!to.writableNeedDrain) from.resume();
  };
  from.on("data", (chunk: Buffer) => {
    if (isFiller(chunk)) return;
    push(direction, chunk);
    reaper.refresh();
    if (from.writableEnded && mayHideReset(from, chunk)) holdReading(from, resume);
  });
  to.on("drain", () => {
    resume();
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
      const complete = direction.ended && reverse.ended && from.writableFinished && !from.errored;
      if (!complete) resetStream(to);
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
