import { promisify } from "node:util";
import { crc32, deflate } from "node:zlib";

/** RGBA pixels, four bytes each, row by row. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const COLOUR_PALETTE = 3;
const COLOUR_RGB = 2;
const compress = promisify(deflate) as (data: Uint8Array, options: object) => Promise<Buffer>;

/**
 * Encodes pixels as PNG (RFC 2083), without transparency: of up to 256 colours with a palette, else with 24 bits. It
 * compresses quickly rather than well, outside of the main thread.
 *
 * @param pixels What to encode; alpha is not looked at.
 * @throws {RangeError} If there are not four bytes for each pixel.
 *
 * @example
 * ```ts
 * import { encodePng } from "@envport/rfb";
 * import assert from "node:assert/strict";
 *
 * const red = await encodePng({ width: 1, height: 1, data: Uint8Array.of(255, 0, 0, 255) });
 * assert.equal(red.toString("latin1", 1, 4), "PNG");
 * ```
 */
export async function encodePng({ width, height, data }: Pixels): Promise<Buffer> {
  if (data.length !== width * height * 4 || data.length === 0) {
    throw new RangeError(
      `Cannot encode PNG as there must be four bytes a pixel: current value is ${String(data.length)} for ${String(width)}x${String(height)}`,
    );
  }
  const aligned = data.byteOffset % 4 === 0 ? data : new Uint8Array(data);
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, width * height);
  const indexed = indexColours(words, width, height);
  const rows = indexed?.rows ?? rgbRows(words, width, height);
  const image = await compress(rows, { level: 1, memLevel: 9, chunkSize: 1 << 20 });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  header[9] = indexed ? COLOUR_PALETTE : COLOUR_RGB;
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    ...(indexed ? [chunk("PLTE", indexed.palette)] : []),
    chunk("IDAT", image),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A byte a pixel, if there are few enough colours; every row begins with its filter, none. */
function indexColours(
  words: Uint32Array,
  width: number,
  height: number,
): { rows: Uint8Array; palette: Buffer } | undefined {
  const rows = new Uint8Array((width + 1) * height);
  const palette = new Palette();
  let [last, index] = [-1, 0];
  for (let y = 0, from = 0, to = 0; y < height; y++) {
    to++;
    for (let x = 0; x < width; x++) {
      const colour = words[from++]! & 0xffffff;
      if (colour !== last) index = palette.index((last = colour));
      if (index < 0) return undefined;
      rows[to++] = index;
    }
  }
  return { rows, palette: palette.toBytes() };
}

/** Up to 256 colours, in an open hash table. */
class Palette {
  readonly #colours: number[] = [];
  /** The colour with a mark, or 0. */
  readonly #keys = new Int32Array(1024);
  readonly #indexes = new Uint8Array(1024);

  /** Where a colour stands; -1 if there is no room for it. */
  index(colour: number): number {
    const key = colour | 0x1000000;
    let slot = Math.imul(colour, 0x9e3779b1) >>> 22;
    while (this.#keys[slot] !== 0 && this.#keys[slot] !== key) slot = (slot + 1) & 1023;
    if (this.#keys[slot] === 0) {
      if (this.#colours.length === 256) return -1;
      this.#keys[slot] = key;
      this.#indexes[slot] = this.#colours.length;
      this.#colours.push(colour);
    }
    return this.#indexes[slot]!;
  }

  toBytes(): Buffer {
    return Buffer.from(this.#colours.flatMap((colour) => [colour & 255, (colour >> 8) & 255, colour >> 16]));
  }
}

function rgbRows(words: Uint32Array, width: number, height: number): Uint8Array {
  const rows = new Uint8Array((width * 3 + 1) * height);
  for (let y = 0, from = 0, to = 0; y < height; y++) {
    to++;
    for (let x = 0; x < width; x++, to += 3) {
      const word = words[from++]!;
      rows[to] = word;
      rows[to + 1] = word >> 8;
      rows[to + 2] = word >> 16;
    }
  }
  return rows;
}

function chunk(type: string, data: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length);
  head.write(type, 4, "latin1");
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(crc32(data, crc32(head.subarray(4))));
  return Buffer.concat([head, data, tail]);
}
