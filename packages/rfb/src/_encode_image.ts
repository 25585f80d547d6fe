import { EnvportError } from "@envport/wire";
import type { Sharp } from "sharp";
import { encodePng } from "./encode_png.ts";
import type { Pixels } from "./encode_png.ts";

/** An image file. */
export interface EncodedImage {
  readonly data: Buffer;
  readonly width: number;
  readonly height: number;
}

/** How an image is to be. */
export interface EncodeImageOptions {
  readonly format: "png" | "jpeg" | "webp";
  readonly quality: number;
  readonly width: number;
  readonly height: number;
}

type SharpModule = (input: Uint8Array, options: object) => Sharp;

let loading: Promise<SharpModule | undefined> | undefined;

/** The optional peer; undefined where it is not installed. */
function loadSharp(): Promise<SharpModule | undefined> {
  loading ??= import("sharp").then(
    (module) => module.default as unknown as SharpModule,
    () => undefined,
  );
  return loading;
}

/**
 * Encodes pixels, scaled down where the size asked for is smaller.
 *
 * @param pixels RGBA.
 * @param options The format and size.
 * @param encoder Which one to take; undefined is the better one that is there.
 * @throws {EnvportError} `unsupported` If the format needs `sharp`, and it is not there.
 */
export async function encodeImage(
  pixels: Pixels,
  options: EncodeImageOptions,
  encoder: "sharp" | "own" | undefined,
): Promise<EncodedImage> {
  const { format, quality, width, height } = options;
  const sharp = encoder === "own" ? undefined : await loadSharp();
  if (sharp) {
    const raw = { width: pixels.width, height: pixels.height, channels: 4 };
    const scaled = width !== pixels.width || height !== pixels.height;
    const opaque = sharp(pixels.data, { raw }).removeAlpha();
    const image = scaled ? opaque.resize(width, height, { fit: "fill", kernel: "lanczos3" }) : opaque;
    return { data: await encoded(image, format, quality).toBuffer(), width, height };
  }
  if (format !== "png" || encoder === "sharp") {
    const rule =
      encoder === "own" ? "our own encoder makes PNG only" : "the package 'sharp' must be installed for it";
    throw new EnvportError(
      "unsupported",
      `Cannot encode screenshot as ${rule}: current value is '${format}'`,
    );
  }
  return { data: await encodePng(shrink(pixels, width, height)), width, height };
}

function encoded(image: Sharp, format: EncodeImageOptions["format"], quality: number): Sharp {
  if (format === "jpeg") return image.jpeg({ quality, chromaSubsampling: "4:4:4" });
  if (format === "webp") return image.webp({ quality, effort: 0 });
  return image.png({ compressionLevel: 1 });
}

/** Each pixel is the mean of those that it stands for. */
function shrink(pixels: Pixels, width: number, height: number): Pixels {
  if (width === pixels.width && height === pixels.height) return pixels;
  const data = new Uint8Array(width * height * 4);
  const edge = (i: number, count: number, total: number): number => Math.floor((i * total) / count);
  for (let y = 0; y < height; y++) {
    const [top, bottom] = [edge(y, height, pixels.height), edge(y + 1, height, pixels.height)];
    for (let x = 0; x < width; x++) {
      const [left, right] = [edge(x, width, pixels.width), edge(x + 1, width, pixels.width)];
      mean(pixels, { left, right, top, bottom }, data, (y * width + x) * 4);
    }
  }
  return { width, height, data };
}

function mean(
  { data, width }: Pixels,
  { left, right, top, bottom }: { left: number; right: number; top: number; bottom: number },
  output: Uint8Array,
  at: number,
): void {
  let [red, green, blue] = [0, 0, 0];
  const count = (right - left) * (bottom - top);
  for (let y = top; y < bottom; y++) {
    for (let from = (y * width + left) * 4; from < (y * width + right) * 4; from += 4) {
      red += data[from]!;
      green += data[from + 1]!;
      blue += data[from + 2]!;
    }
  }
  output[at] = red / count + 0.5;
  output[at + 1] = green / count + 0.5;
  output[at + 2] = blue / count + 0.5;
  output[at + 3] = 255;
}
