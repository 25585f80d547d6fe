import type { Parse } from "./_byte_queue.ts";
import { lengthAndData, rgb } from "./_decoding.ts";
import type { Decoding } from "./_decoding.ts";
import type { Framebuffer } from "./_framebuffer.ts";
import { violation } from "./_violation.ts";
import type { Rect } from "./rect.ts";

const TILE = 64;
/** What a tile of one pixel may take at most: a palette of 127, a run. */
const TILE_BYTES = 1 + 127 * 3;

/** ZRLE: tiles of 64 by 64, palettes and runs in one zlib stream (RFC 6143, 7.7.6). */
export function* decodeZrle(decoding: Decoding, rect: Rect): Parse {
  const tiles = Math.ceil(rect.width / TILE) * Math.ceil(rect.height / TILE);
  const limit = rect.width * rect.height * 4 + tiles * TILE_BYTES;
  const data = yield* lengthAndData(decoding, limit);
  const tileReader = new TileReader(decoding.screen, decoding.inflater("zrle").inflate(data, limit));
  for (let y = 0; y < rect.height; y += TILE) {
    for (let x = 0; x < rect.width; x += TILE) {
      const [width, height] = [Math.min(TILE, rect.width - x), Math.min(TILE, rect.height - y)];
      tileReader.read({ x: rect.x + x, y: rect.y + y, width, height });
    }
  }
}

/** Draws one tile after the other. A pixel is three bytes. */
class TileReader {
  readonly #screen: Framebuffer;
  readonly #data: Buffer;
  readonly #palette = new Uint32Array(128);
  #at = 0;

  constructor(screen: Framebuffer, data: Buffer) {
    this.#screen = screen;
    this.#data = data;
  }

  read(tile: Rect): void {
    const kind = this.#data[this.#at++] ?? 0;
    if (kind === 0) this.#raw(tile);
    else if (kind === 1) this.#screen.fill(tile.x, tile.y, tile.width, tile.height, this.#pixel());
    else if (kind <= 16) this.#packed(tile, kind);
    else if (kind === 128) this.#runs(tile, false);
    else if (kind >= 130) {
      this.#readPalette(kind - 128);
      this.#runs(tile, true);
    } else throw violation("a tile is of a known kind", kind);
    // Reading behind the end gives zeros, so it is enough to look once a tile.
    if (this.#at > this.#data.length) throw violation("a rectangle has all its tiles", this.#data.length);
  }

  #pixel(): number {
    this.#at += 3;
    return rgb(this.#data, this.#at - 3);
  }

  #readPalette(size: number): void {
    for (let i = 0; i < size; i++) this.#palette[i] = this.#pixel();
  }

  #raw({ x, y, width, height }: Rect): void {
    const { pixels, width: stride } = this.#screen;
    const data = this.#data;
    let at = this.#at;
    for (let row = 0, start = y * stride + x; row < height; row++, start += stride) {
      for (let i = start; i < start + width; i++, at += 3) {
        pixels[i] = data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16) | 0xff000000;
      }
    }
    this.#at = at;
  }

  #packed({ x, y, width, height }: Rect, size: number): void {
    this.#readPalette(size);
    const { pixels, width: stride } = this.#screen;
    const palette = this.#palette;
    const bits = size === 2 ? 1 : size <= 4 ? 2 : 4;
    const mask = (1 << bits) - 1;
    for (let row = 0, start = y * stride + x; row < height; row++, start += stride) {
      for (let i = 0, left = 0, byte = 0; i < width; i++) {
        if (left === 0) {
          byte = this.#data[this.#at++]!;
          left = 8;
        }
        left -= bits;
        pixels[start + i] = palette[(byte >> left) & mask]!;
      }
    }
  }

  /** Runs of a pixel, or of one of the palette, where a number without the high bit is one pixel. */
  #runs({ x, y, width, height }: Rect, fromPalette: boolean): void {
    const { pixels, width: stride } = this.#screen;
    for (let left = width * height, column = 0, at = y * stride + x; left > 0;) {
      const index = fromPalette ? (this.#data[this.#at++] ?? 0) : 128;
      const pixel = fromPalette ? this.#palette[index & 127]! : this.#pixel();
      const run = index & 128 ? this.#runLength() : 1;
      if (run > left) throw violation("a run ends within its tile", run);
      left -= run;
      for (let i = 0; i < run; i++) {
        pixels[at++] = pixel;
        if (++column < width) continue;
        column = 0;
        at += stride - width;
      }
    }
  }

  #runLength(): number {
    let length = 1;
    for (let byte = 255; byte === 255; length += byte) byte = this.#data[this.#at++] ?? 0;
    return length;
  }
}
