import type { Rect } from "./rect.ts";

/** An image of the screen. */
export interface Screenshot {
  /** The file. */
  readonly data: Buffer;
  readonly mimeType: "image/png" | "image/jpeg" | "image/webp";
  /** Of the image, in its own pixels. */
  readonly width: number;
  readonly height: number;
  /** The part of the screen that it shows, in the screen's pixels. */
  readonly region: Rect;
  /** Pixels of the image per pixel of the screen. */
  readonly scale: number;
  /** How many updates the screen had seen. */
  readonly generation: number;
}
