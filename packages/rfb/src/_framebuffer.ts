import { violation } from "./_violation.ts";
import type { Rect } from "./rect.ts";

/** Of a screen: 8192 x 8192 pixels. */
const MAX_PIXELS = 1 << 26;
const OPAQUE = 0xff000000;

/** The screen as the server has told it: RGBA, four bytes a pixel, alpha always 255. */
export class Framebuffer {
  width: number = 0;
  height: number = 0;
  /** One element a pixel: red is the low byte. */
  pixels: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  /** The same memory as bytes. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);

  /** Makes it another size; what both have in common stays. */
  resize(width: number, height: number): void {
    if (width === 0 || height === 0 || width * height > MAX_PIXELS) {
      throw violation("a screen has 1 to 67108864 pixels", `${String(width)}x${String(height)}`);
    }
    const { pixels: old, width: oldWidth, height: oldHeight } = this;
    this.pixels = new Uint32Array(width * height).fill(OPAQUE);
    this.bytes = new Uint8Array(this.pixels.buffer);
    this.width = width;
    this.height = height;
    const columns = Math.min(width, oldWidth);
    for (let y = 0; y < Math.min(height, oldHeight); y++) {
      this.pixels.set(old.subarray(y * oldWidth, y * oldWidth + columns), y * width);
    }
  }

  /** Refuses a rectangle that is not inside. */
  check({ x, y, width, height }: Rect): void {
    if (x + width <= this.width && y + height <= this.height) return;
    const rect = `${String(width)}x${String(height)} at ${String(x)},${String(y)}`;
    throw violation(`a rectangle lies in the ${String(this.width)}x${String(this.height)} screen`, rect);
  }

  /** Fills a rectangle that is known to be inside with one pixel. */
  fill(x: number, y: number, width: number, height: number, pixel: number): void {
    const { pixels } = this;
    for (let start = y * this.width + x, row = 0; row < height; row++, start += this.width) {
      if (width > 16) pixels.fill(pixel, start, start + width);
      else for (let i = start; i < start + width; i++) pixels[i] = pixel;
    }
  }

  /** Copies rows of pixels, four bytes each, to where they belong. */
  draw(x: number, y: number, width: number, height: number, source: Uint8Array): void {
    for (let row = 0, from = 0; row < height; row++, from += width * 4) {
      const start = (y + row) * this.width + x;
      this.bytes.set(source.subarray(from, from + width * 4), start * 4);
      this.opaque(start, width);
    }
  }

  /** Sets alpha, which a server leaves as it likes. */
  opaque(start: number, count: number): void {
    const { pixels } = this;
    for (let i = start; i < start + count; i++) pixels[i]! |= OPAQUE;
  }

  /** Copies a rectangle within the screen; the two may overlap. */
  copy({ x, y, width, height }: Rect, fromX: number, fromY: number): void {
    for (let i = 0; i < height; i++) {
      const row = fromY >= y ? i : height - 1 - i;
      const from = (fromY + row) * this.width + fromX;
      this.pixels.copyWithin((y + row) * this.width + x, from, from + width);
    }
  }
}
