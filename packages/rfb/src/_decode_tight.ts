import type { ByteQueue, Parse } from "./_byte_queue.ts";
import { compressedLimit, rgb } from "./_decoding.ts";
import type { Decoding } from "./_decoding.ts";
import type { Framebuffer } from "./_framebuffer.ts";
import { decodeJpeg } from "./_jpeg.ts";
import { violation } from "./_violation.ts";
import type { Rect } from "./rect.ts";

const FILL = 8;
const JPEG = 9;
const COPY_FILTER = 0;
const PALETTE_FILTER = 1;
const GRADIENT_FILTER = 2;
/** What is shorter than this is not compressed. */
const MIN_COMPRESSED = 12;

/**
 * Tight: four zlib streams, filters, JPEG. A pixel is three bytes.
 *
 * ```text
 * control byte   low bits: streams to reset   high bits: 8 fill, 9 JPEG, else stream (2 bits), has a filter (1 bit)
 * ```
 *
 * @see {@link https://github.com/rfbproto/rfbproto/blob/master/rfbproto.rst#tight-encoding | rfbproto: Tight}
 */
export function* decodeTight(decoding: Decoding, rect: Rect): Parse {
  const { queue, screen } = decoding;
  if (queue.available < 1) yield 1;
  const control = queue.u8();
  for (let i = 0; i < 4; i++) if (control & (1 << i)) decoding.inflater(`tight ${String(i)}`).reset();
  const kind = control >> 4;
  if (kind === FILL) {
    if (queue.available < 3) yield 3;
    screen.fill(rect.x, rect.y, rect.width, rect.height, rgb(queue.view(3), 0));
  } else if (kind === JPEG) {
    const length = yield* compactLength(queue);
    if (queue.available < length) yield length;
    const image = decodeJpeg(queue.view(length), rect);
    screen.draw(rect.x, rect.y, rect.width, rect.height, image);
  } else if (kind < FILL) yield* filtered(decoding, rect, kind);
  else throw violation("a Tight rectangle is of a known kind", kind);
}

/** Seven bits a byte, the lowest first, at most three bytes. */
function* compactLength(queue: ByteQueue): Parse<number> {
  let length = 0;
  for (let shift = 0; shift <= 14; shift += 7) {
    if (queue.available < 1) yield 1;
    const byte = queue.u8();
    if (shift === 14) return length | (byte << 14);
    length |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  return length;
}

function* filtered(decoding: Decoding, rect: Rect, kind: number): Parse {
  const { queue, screen } = decoding;
  if (queue.available < 1) yield 1;
  const filter = kind & 4 ? queue.u8() : COPY_FILTER;
  if (filter > GRADIENT_FILTER) throw violation("a Tight filter is copy, palette or gradient", filter);
  const palette = filter === PALETTE_FILTER ? yield* readPalette(queue) : [];
  const { width, height } = rect;
  const row = filter !== PALETTE_FILTER ? width * 3 : palette.length <= 2 ? Math.ceil(width / 8) : width;
  const data = yield* readData(decoding, `tight ${String(kind & 3)}`, row * height);
  if (filter === PALETTE_FILTER) drawPalette(screen, rect, data, palette);
  else if (filter === GRADIENT_FILTER) drawGradient(screen, rect, data);
  else drawCopy(screen, rect, data);
}

function* readPalette(queue: ByteQueue): Parse<number[]> {
  if (queue.available < 1) yield 1;
  const size = queue.u8() + 1;
  if (queue.available < size * 3) yield size * 3;
  const bytes = queue.view(size * 3);
  return Array.from({ length: size }, (_, i) => rgb(bytes, i * 3));
}

function* readData(decoding: Decoding, stream: string, size: number): Parse<Buffer> {
  const { queue } = decoding;
  if (size < MIN_COMPRESSED) {
    if (queue.available < size) yield size;
    return queue.view(size);
  }
  const length = yield* compactLength(queue);
  if (length > compressedLimit(size)) throw violation("compressed data is no longer than its pixels", length);
  if (queue.available < length) yield length;
  return decoding.inflater(stream).exactly(queue.view(length), size);
}

function drawCopy({ pixels, width: stride }: Framebuffer, rect: Rect, data: Buffer): void {
  let from = 0;
  for (let row = 0, start = rect.y * stride + rect.x; row < rect.height; row++, start += stride) {
    for (let i = start; i < start + rect.width; i++, from += 3) {
      pixels[i] = data[from]! | (data[from + 1]! << 8) | (data[from + 2]! << 16) | 0xff000000;
    }
  }
}

/** Two colours take a bit a pixel, more take a byte. */
function drawPalette(screen: Framebuffer, rect: Rect, data: Buffer, palette: readonly number[]): void {
  const { pixels, width: stride } = screen;
  const { width, height } = rect;
  const bits = palette.length <= 2;
  const row = bits ? Math.ceil(width / 8) : width;
  const black = 0xff000000;
  for (let y = 0, start = rect.y * stride + rect.x; y < height; y++, start += stride) {
    for (let x = 0; x < width; x++) {
      const index = bits ? (data[y * row + (x >> 3)]! >> (7 - (x & 7))) & 1 : data[y * row + x]!;
      pixels[start + x] = palette[index] ?? black;
    }
  }
}

/** Each colour is told as the difference from left + above - above left. */
function drawGradient({ bytes, pixels, width: stride }: Framebuffer, rect: Rect, data: Buffer): void {
  let from = 0;
  for (let y = 0; y < rect.height; y++) {
    for (let x = 0; x < rect.width; x++) {
      const at = ((rect.y + y) * stride + rect.x + x) * 4;
      for (let colour = 0; colour < 3; colour++) {
        const left = x > 0 ? bytes[at + colour - 4]! : 0;
        const above = y > 0 ? bytes[at + colour - stride * 4]! : 0;
        const corner = x > 0 && y > 0 ? bytes[at + colour - stride * 4 - 4]! : 0;
        const guess = Math.min(255, Math.max(0, left + above - corner));
        bytes[at + colour] = guess + data[from++]!;
      }
      pixels[at / 4]! |= 0xff000000;
    }
  }
}
