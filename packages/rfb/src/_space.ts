import type { Framebuffer } from "./_framebuffer.ts";
import type { Rect } from "./rect.ts";
import type { Screenshot } from "./screenshot.ts";

/** What coordinates on an image mean on the screen. */
export type Space = Pick<Screenshot, "width" | "height" | "region">;

/**
 * The pixel of the screen in the middle of what a pixel of an image shows.
 *
 * @throws {RangeError} If it lies outside of the image.
 */
export function toScreen(space: Space, x: number, y: number): [x: number, y: number] {
  const { width, height, region } = space;
  if (!(x >= 0 && x < width && y >= 0 && y < height)) {
    throw new RangeError(
      `Cannot point at pixel as it must lie in the ${String(width)}x${String(height)} image: current value is ${String(x)},${String(y)}`,
    );
  }
  const along = (value: number, of: number, start: number, size: number): number =>
    start + Math.floor(((Math.floor(value) + 0.5) * size) / of);
  return [along(x, width, region.x, region.width), along(y, height, region.y, region.height)];
}

/** The screen as it is. */
export function screenSpace({ width, height }: Framebuffer): Space {
  return { width, height, region: { x: 0, y: 0, width, height } };
}

/**
 * A region that was asked for, or the whole screen.
 *
 * @throws {RangeError} If it does not lie on the screen.
 */
export function regionOf({ width, height }: Framebuffer, region: Rect | undefined): Rect {
  const { x, y, width: columns, height: rows } = region ?? { x: 0, y: 0, width, height };
  const whole = [x, y, columns, rows].every((value) => Number.isInteger(value) && value >= 0);
  if (whole && columns > 0 && rows > 0 && x + columns <= width && y + rows <= height) {
    return { x, y, width: columns, height: rows };
  }
  throw new RangeError(
    `Cannot use region as it must be whole pixels of the ${String(width)}x${String(height)} screen: current value is ${JSON.stringify(region)}`,
  );
}

/** Whether two rectangles have a pixel in common. */
export function overlaps(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** Whether the first rectangle lies in the second. */
export function isInside(a: Rect, b: Rect): boolean {
  return a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width && a.y + a.height <= b.y + b.height;
}
