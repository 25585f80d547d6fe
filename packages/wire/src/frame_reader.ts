import { ErrorCode } from "./error_code.ts";
import { ProtocolError } from "./protocol_error.ts";

/** Options of {@linkcode FrameReader}. */
export interface FrameReaderOptions {
  /**
   * Longest accepted line in bytes, its newline not counted (FRAME-4).
   *
   * @default {16777216}
   */
  maxFrameBytes?: number | undefined;
}

/** The default of `maxFrameBytes` everywhere: 16 MiB. */
export const MAX_FRAME_BYTES: number = 16 * 1024 * 1024;

const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);
/** A line buffer over this size is given back once its line has been read: thousands of connections may be idle. */
const KEEP_BYTES = 4 * 1024;
/** What is not written to is not held: a large buffer's pages come from the system as they are used. */
const GROWTH = 4;
/** Up to here a loop is faster than a call into native code. */
const FEW_BYTES = 16;
/** Chunks that have been looked at leave the list once there are this many, and half of the list is such. */
const DROP_CHUNKS = 1_024;

/**
 * Splits a byte stream into lines, however it was chunked (FRAME-1, FRAME-2). It does no I/O: push what arrived, take
 * lines out, and take what is left when the stream turns into something else (FRAME-3).
 *
 * A line that lies inside one chunk is never copied; the pieces of a longer one are gathered in a buffer that grows,
 * so that work is linear in the bytes and memory stays under the limit however small the chunks are.
 *
 * @example A line that spans two chunks, and bytes that are no line
 * ```ts
 * import { FrameReader } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * const reader = new FrameReader();
 * reader.push(Buffer.from('{"id"'));
 * assert.equal(reader.next(), undefined);
 * reader.push(Buffer.from(":1}\nraw"));
 * assert.equal(String(reader.next()), '{"id":1}');
 * assert.equal(String(reader.release()), "raw");
 * ```
 */
export class FrameReader {
  /** Longest accepted line in bytes; may be changed between lines. */
  maxFrameBytes: number;
  #chunks: Buffer[] = [];
  /** Index of the first chunk that has not been looked at, and how much of that one has. */
  #first = 0;
  #offset = 0;
  #line: Buffer = EMPTY;
  #lineBytes = 0;
  #chunkBytes = 0;

  /** @param options The limit. */
  constructor(options: FrameReaderOptions = {}) {
    this.maxFrameBytes = options.maxFrameBytes ?? MAX_FRAME_BYTES;
  }

  /** Bytes pushed but not taken out yet. */
  get bufferedBytes(): number {
    return this.#chunkBytes + this.#lineBytes;
  }

  /** Chunks pushed but not looked at yet. */
  get bufferedChunks(): number {
    return this.#chunks.length - this.#first;
  }

  /**
   * Takes in one chunk, which must not change afterwards.
   *
   * @param chunk Bytes as they arrived.
   */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push(
      Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length),
    );
    this.#chunkBytes += chunk.length;
  }

  /**
   * Takes out the next whole line.
   *
   * @returns The line without its newline, valid until the next call; undefined if no whole line is there.
   * @throws {ProtocolError} If the line is longer than `maxFrameBytes`, also before its end has come (-32600); every
   *   later call then throws again.
   */
  next(): Buffer | undefined {
    while (this.#first < this.#chunks.length) {
      const chunk = this.#chunks[this.#first]!;
      const start = this.#offset;
      const newline = indexOfNewline(chunk, start);
      const end = newline < 0 ? chunk.length : newline;
      this.#checkLimit(this.#lineBytes + end - start);
      const inOneChunk = newline >= 0 && this.#lineBytes === 0;
      if (!inOneChunk) this.#gather(chunk, start, end);
      this.#advance(chunk, newline < 0 ? end : end + 1);
      if (inOneChunk) return chunk.subarray(start, end);
      if (newline >= 0) return this.#finish();
    }
    return undefined;
  }

  /**
   * Takes out a last line that no newline ended (SESS-4), once {@linkcode next} has found no other.
   *
   * @returns The line, or undefined if nothing is left.
   */
  last(): Buffer | undefined {
    return this.#lineBytes > 0 ? this.#finish() : undefined;
  }

  /** Takes out everything that has not been read as a line; the reader is empty afterwards. */
  release(): Buffer {
    const [head = EMPTY, ...others] = this.#chunks.slice(this.#first);
    const pieces = [this.#line.subarray(0, this.#lineBytes), head.subarray(this.#offset), ...others].filter(
      (piece) => piece.length > 0,
    );
    this.#chunks = [];
    this.#first = this.#offset = this.#lineBytes = this.#chunkBytes = 0;
    this.#line = EMPTY;
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** Moves on inside the first chunk, or past it. */
  #advance(chunk: Buffer, offset: number): void {
    this.#chunkBytes -= offset - this.#offset;
    this.#offset = offset;
    if (offset < chunk.length) return;
    this.#offset = 0;
    if (this.#chunks.length === 1) {
      this.#chunks.pop();
      return;
    }
    this.#chunks[this.#first++] = EMPTY;
    const all = this.#first === this.#chunks.length;
    if (!all && (this.#first < DROP_CHUNKS || this.#first * 2 < this.#chunks.length)) return;
    this.#chunks = all ? [] : this.#chunks.slice(this.#first);
    this.#first = 0;
  }

  /** Ends the line that has been gathered. */
  #finish(): Buffer {
    const line = this.#line.subarray(0, this.#lineBytes);
    this.#lineBytes = 0;
    if (this.#line.length > KEEP_BYTES) this.#line = EMPTY;
    return line;
  }

  /** Adds a piece to the line that has begun. */
  #gather(chunk: Buffer, start: number, end: number): void {
    const length = this.#lineBytes + end - start;
    if (length > this.#line.length) {
      const capacity = Math.min(Math.max(512, this.#line.length * GROWTH), this.maxFrameBytes);
      const grown = Buffer.allocUnsafeSlow(Math.max(capacity, length));
      this.#line.copy(grown, 0, 0, this.#lineBytes);
      this.#line = grown;
    }
    if (end - start <= FEW_BYTES) {
      for (let from = start, to = this.#lineBytes; from < end; from++, to++) this.#line[to] = chunk[from]!;
    } else chunk.copy(this.#line, this.#lineBytes, start, end);
    this.#lineBytes = length;
  }

  #checkLimit(bytes: number): void {
    if (bytes <= this.maxFrameBytes) return;
    throw new ProtocolError(
      ErrorCode.invalidRequest,
      `frame too large: a line may have at most ${String(this.maxFrameBytes)} bytes`,
      { type: "frame-too-large", limit: this.maxFrameBytes },
    );
  }
}

function indexOfNewline(chunk: Buffer, start: number): number {
  if (chunk.length - start > FEW_BYTES) return chunk.indexOf(NEWLINE, start);
  for (let i = start; i < chunk.length; i++) if (chunk[i] === NEWLINE) return i;
  return -1;
}
