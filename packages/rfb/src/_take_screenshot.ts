import { EnvportError } from "@envport/wire";
import { encodeImage } from "./_encode_image.ts";
import type { EncodedImage } from "./_encode_image.ts";
import type { Frame } from "./frame.ts";
import type { ScreenshotOptions } from "./rfb_client_options.ts";
import type { Screenshot } from "./screenshot.ts";

const QUALITY = 85;
/** Below this, a smaller image is better than a worse one. */
const LOW_QUALITY = 50;
const MAX_TRIES = 12;

/** Encodes a frame as it is asked for, within the limit of bytes. */
export async function takeScreenshot(
  frame: Frame,
  options: ScreenshotOptions,
  encoder: "sharp" | "own" | undefined,
): Promise<Screenshot> {
  const { format = "png", maxBytes = Infinity } = options;
  if (!["png", "jpeg", "webp"].includes(format)) {
    throw new TypeError(
      `Cannot encode screenshot as 'format' must be png, jpeg or webp: current value is '${format}'`,
    );
  }
  let scale = scaleOf(frame, options.scale);
  let quality = options.quality ?? QUALITY;
  for (let i = 0; i < MAX_TRIES; i++) {
    const [width, height] = [side(frame.width, scale), side(frame.height, scale)];
    const image = await encodeImage(frame, { format, quality, width, height }, encoder);
    if (image.data.length <= maxBytes) return describe(frame, image, format);
    if (format !== "png" && quality > LOW_QUALITY) quality = LOW_QUALITY;
    else scale *= Math.min(0.9, Math.sqrt(maxBytes / image.data.length));
  }
  throw new EnvportError(
    "unsupported",
    `Cannot encode screenshot as 'maxBytes' must be enough for an image: current value is ${String(maxBytes)}`,
  );
}

function describe(frame: Frame, image: EncodedImage, format: "png" | "jpeg" | "webp"): Screenshot {
  const { x, y, width, height, generation } = frame;
  return {
    ...image,
    mimeType: `image/${format}`,
    region: { x, y, width, height },
    scale: image.width / width,
    generation,
  };
}

function side(pixels: number, scale: number): number {
  return Math.max(1, Math.round(pixels * scale));
}

function scaleOf({ width, height }: Frame, scale: ScreenshotOptions["scale"]): number {
  const value =
    typeof scale === "object" ? Math.min(1, scale.maxWidth / width, scale.maxHeight / height) : (scale ?? 1);
  if (value > 0 && value <= 1) return value;
  throw new RangeError(
    `Cannot scale screenshot as 'scale' must be more than 0 and at most 1: current value is ${JSON.stringify(scale)}`,
  );
}
