import type { Parse } from "./_byte_queue.ts";
import type { Decoding } from "./_decoding.ts";
import type { Rect } from "./rect.ts";

/** CopyRect: where the pixels are already (RFC 6143, 7.7.2). */
export function* decodeCopyRect({ queue, screen }: Decoding, rect: Rect): Parse {
  if (queue.available < 4) yield 4;
  const [x, y] = [queue.u16(), queue.u16()];
  screen.check({ ...rect, x, y });
  screen.copy(rect, x, y);
}
