import type { ByteQueue, Parse } from "./_byte_queue.ts";
import type { Framebuffer } from "./_framebuffer.ts";
import { Inflater } from "./_inflater.ts";
import { violation } from "./_violation.ts";
import type { Rect } from "./rect.ts";

/** What the decoder of an encoding works with: where bytes come from, where pixels go, and what goes on between rectangles. */
export class Decoding {
  readonly queue: ByteQueue;
  readonly screen: Framebuffer;
  readonly #inflaters = new Map<string, Inflater>();

  constructor(queue: ByteQueue, screen: Framebuffer) {
    this.queue = queue;
    this.screen = screen;
  }

  /** The zlib stream of that name: it lasts as long as the connection. */
  inflater(name: string): Inflater {
    let inflater = this.#inflaters.get(name);
    if (!inflater) this.#inflaters.set(name, (inflater = new Inflater()));
    return inflater;
  }

  /** A pixel of four bytes. */
  pixel(): number {
    const { bytes, offset } = this.queue;
    this.queue.offset += 4;
    return rgb(bytes, offset);
  }
}

/** Reads one rectangle of an encoding, which is inside the screen, and draws it. */
export type Decode = (decoding: Decoding, rect: Rect) => Parse;

/** The pixel whose red, green and blue are there. */
export function rgb(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | 0xff000000) >>> 0;
}

/** Reads compressed data behind its length, which is checked against what the pixels can come to. */
export function* lengthAndData({ queue }: Decoding, limit: number): Parse<Buffer> {
  if (queue.available < 4) yield 4;
  const length = queue.u32();
  if (length > compressedLimit(limit))
    throw violation("compressed data is no longer than its pixels", length);
  if (queue.available < length) yield length;
  return queue.view(length);
}

/** What data of so many bytes may come to when it cannot be compressed. */
export function compressedLimit(size: number): number {
  return size + (size >> 4) + 1024;
}
