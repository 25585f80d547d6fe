import type { ByteStream } from "./byte_stream.ts";

/** What Node reads from a socket at a time. */
const READ_BYTES = 64 * 1024;
const FILLER = Buffer.allocUnsafeSlow(READ_BYTES);

/**
 * Whether a reset that arrived together with a chunk would be reported as a clean end: by Node up to 24, if the chunk did
 * not fill its buffer and reading does not stop in between.
 *
 * @param stream The stream that the chunk came from.
 * @param chunk The chunk.
 */
export function mayHideReset(stream: ByteStream, chunk: Uint8Array): boolean {
  return stream.localPort !== undefined && chunk.length < READ_BYTES;
}

/**
 * Keeps a TCP stream from reading on until the next turn of the event loop. To be called while a `data` event is being
 * handled, on a stream whose own direction has ended: no question to the kernel tells a reset from an end any more then
 * (see `wasReset`).
 *
 * Reading stops when the stream's own buffer is full, so it is filled with bytes that {@linkcode isFiller} knows and
 * nobody passes on.
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
