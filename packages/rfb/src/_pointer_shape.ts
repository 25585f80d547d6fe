import type { Parse } from "./_byte_queue.ts";
import type { Decoding } from "./_decoding.ts";
import { violation } from "./_violation.ts";
import type { Rect } from "./rect.ts";

/** How the pointer looks: RGBA, with the pixel that it points with. */
export interface PointerShape {
  readonly width: number;
  readonly height: number;
  readonly hotX: number;
  readonly hotY: number;
  readonly data: Uint8Array;
}

const MAX_SIDE = 2048;

/** Cursor: pixels, then a bit for each that says whether it is seen (RFC 6143, 7.8.1). Of no size it is hidden. */
export function* readPointerShape({ queue }: Decoding, rect: Rect): Parse<PointerShape | undefined> {
  const { x: hotX, y: hotY, width, height } = rect;
  if (width > MAX_SIDE || height > MAX_SIDE)
    throw violation("a pointer is at most 2048 wide and high", width);
  const row = Math.ceil(width / 8);
  const total = width * height * 4 + row * height;
  if (queue.available < total) yield total;
  if (total === 0) return undefined;
  const data = queue.take(width * height * 4);
  const mask = queue.view(row * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      data[(y * width + x) * 4 + 3] = mask[y * row + (x >> 3)]! & (0x80 >> (x & 7)) ? 255 : 0;
    }
  }
  return { width, height, hotX, hotY, data };
}
