import { Encoding } from "./_encodings.ts";
import type { PixelEncoding, RfbConnectOptions } from "./rfb_client_options.ts";

const ENCODINGS: Readonly<Record<PixelEncoding, number>> = {
  raw: Encoding.raw,
  "copy-rect": Encoding.copyRect,
  rre: Encoding.rre,
  hextile: Encoding.hextile,
  zlib: Encoding.zlib,
  zrle: Encoding.zrle,
  tight: Encoding.tight,
};
/** JPEG comes in Tight rectangles only. */
const WITH_JPEG: readonly PixelEncoding[] = ["copy-rect", "tight", "zrle", "raw"];

/** What a caller asks for, by the protocol's numbers; undefined where that is left to us. */
export function pixelEncodings({ encodings, jpegQuality }: RfbConnectOptions): readonly number[] | undefined {
  if (jpegQuality === undefined) return encodings?.map(numberOf);
  if (!Number.isInteger(jpegQuality) || jpegQuality < 0 || jpegQuality > 9) {
    throw new RangeError(
      `Cannot ask for JPEG as its quality must be 0 to 9: current value is ${String(jpegQuality)}`,
    );
  }
  return [...(encodings ?? WITH_JPEG).map(numberOf), Encoding.quality + jpegQuality];
}

function numberOf(name: PixelEncoding): number {
  if (Object.hasOwn(ENCODINGS, name)) return ENCODINGS[name];
  throw new TypeError(
    `Cannot ask for encoding as it must be one of ${Object.keys(ENCODINGS).join(", ")}: current value is '${name}'`,
  );
}
