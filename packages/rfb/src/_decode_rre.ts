import type { Parse } from "./_byte_queue.ts";
import type { Decoding } from "./_decoding.ts";
import { violation } from "./_violation.ts";
import type { Rect } from "./rect.ts";

/** RRE: a background and rectangles on it (RFC 6143, 7.7.3). */
export function* decodeRre(decoding: Decoding, { x, y, width, height }: Rect): Parse {
  const { queue, screen } = decoding;
  if (queue.available < 8) yield 8;
  const count = queue.u32();
  if (count > width * height) throw violation("an RRE rectangle has at most one part a pixel", count);
  screen.fill(x, y, width, height, decoding.pixel());
  for (let i = 0; i < count; i++) {
    if (queue.available < 12) yield 12;
    const pixel = decoding.pixel();
    const [left, top, columns, rows] = [queue.u16(), queue.u16(), queue.u16(), queue.u16()];
    if (left + columns > width || top + rows > height) {
      throw violation("a part lies in its rectangle", `${String(left)},${String(top)}`);
    }
    screen.fill(x + left, y + top, columns, rows, pixel);
  }
}
