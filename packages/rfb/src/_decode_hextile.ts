import type { Parse } from "./_byte_queue.ts";
import type { Decoding } from "./_decoding.ts";
import { violation } from "./_violation.ts";
import type { Rect } from "./rect.ts";

const RAW = 1;
const BACKGROUND = 2;
const FOREGROUND = 4;
const PARTS = 8;
const COLOURED = 16;

/** Hextile: tiles of 16 by 16, each raw or a background with rectangles on it (RFC 6143, 7.7.4). */
export function* decodeHextile(decoding: Decoding, rect: Rect): Parse {
  const { queue } = decoding;
  const colours = { background: 0xff000000, foreground: 0xff000000 };
  for (let top = 0; top < rect.height; top += 16) {
    for (let left = 0; left < rect.width; left += 16) {
      const tile = {
        x: rect.x + left,
        y: rect.y + top,
        width: Math.min(16, rect.width - left),
        height: Math.min(16, rect.height - top),
      };
      if (queue.available < 1) yield 1;
      let need = headBytes(queue.bytes[queue.offset]!, tile);
      if (queue.available < need) yield need;
      need += partBytes(queue.bytes[queue.offset]!, queue.bytes[queue.offset + need - 1]!);
      if (queue.available < need) yield need;
      drawTile(decoding, tile, colours);
    }
  }
}

/** From the flags to the number of parts, or to the last pixel of a raw tile. */
function headBytes(flags: number, { width, height }: Rect): number {
  if (flags & RAW) return 1 + width * height * 4;
  return 1 + (flags & BACKGROUND ? 4 : 0) + (flags & FOREGROUND ? 4 : 0) + (flags & PARTS ? 1 : 0);
}

function partBytes(flags: number, count: number): number {
  return flags & RAW || !(flags & PARTS) ? 0 : count * (flags & COLOURED ? 6 : 2);
}

function drawTile(
  decoding: Decoding,
  { x, y, width, height }: Rect,
  colours: { background: number; foreground: number },
): void {
  const { queue, screen } = decoding;
  const flags = queue.u8();
  if (flags & RAW) {
    screen.draw(x, y, width, height, queue.view(width * height * 4));
    return;
  }
  if (flags & BACKGROUND) colours.background = decoding.pixel();
  if (flags & FOREGROUND) colours.foreground = decoding.pixel();
  const count = flags & PARTS ? queue.u8() : 0;
  screen.fill(x, y, width, height, colours.background);
  for (let i = 0; i < count; i++) {
    const pixel = flags & COLOURED ? decoding.pixel() : colours.foreground;
    const place = queue.u8();
    const size = queue.u8();
    const [left, top, columns, rows] = [place >> 4, place & 15, (size >> 4) + 1, (size & 15) + 1];
    if (left + columns > width || top + rows > height) throw violation("a part lies in its tile", place);
    screen.fill(x + left, y + top, columns, rows, pixel);
  }
}
