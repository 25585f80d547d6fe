import type { Parse } from "./_byte_queue.ts";
import { lengthAndData } from "./_decoding.ts";
import type { Decoding } from "./_decoding.ts";
import type { Rect } from "./rect.ts";

/** Zlib: raw pixels in one zlib stream. */
export function* decodeZlib(decoding: Decoding, { x, y, width, height }: Rect): Parse {
  const size = width * height * 4;
  const data = yield* lengthAndData(decoding, size);
  decoding.screen.draw(x, y, width, height, decoding.inflater("zlib").exactly(data, size));
}
