import type { ByteStream } from "./byte_stream.ts";

const FILLER = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Keeps a TCP stream from reading on until the next turn of the event loop. To be called while a `data` event is being
 * handled, on a stream whose own direction has ended.
 *
 * Node up to 24 reports a reset that arrives together with data as a clean end, unless reading stops in between; and once
 * our own end was sent, no question to the kernel tells the two apart any more (see `wasReset`). Reading stops when the
 * stream's own buffer is full, so it is filled with bytes that {@linkcode isFiller} knows and nobody passes on.
 *
 * @param stream The stream.
 * @param goOn Called at the next turn; it resumes the stream.
 */
export function holdReading(stream: ByteStream, goOn: () => void): void {
  stream.pause();
  const missing = stream.readableHighWaterMark - stream.readableLength;
  for (let bytes = 0; bytes === 0 || bytes < missing; bytes += FILLER.length) stream.unshift(FILLER);
  setImmediate(goOn);
}

/**
 * Whether a chunk is one that {@linkcode holdReading} has put there.
 *
 * @param chunk A chunk as it came from the stream.
 */
export function isFiller(chunk: Uint8Array): boolean {
  return chunk.buffer === FILLER.buffer;
}
