import type { Parse } from "./_byte_queue.ts";
import type { Decoding } from "./_decoding.ts";
import type { Rect } from "./rect.ts";

/** Raw: rows of pixels (RFC 6143, 7.7.1). They are drawn as they come, so a whole screen is never held twice. */
export function* decodeRaw({ queue, screen }: Decoding, { x, y, width, height }: Rect): Parse {
  const row = width * 4;
  for (let done = 0; done < height && width > 0;) {
    if (queue.available < row) yield row;
    const rows = Math.min(Math.floor(queue.available / row), height - done);
    const source = queue.view(rows * row);
    if (width === screen.width) {
      const start = (y + done) * width;
      screen.bytes.set(source, start * 4);
      screen.opaque(start, rows * width);
    } else screen.draw(x, y + done, width, rows, source);
    done += rows;
  }
}
