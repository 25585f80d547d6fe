import type { Framebuffer } from "./_framebuffer.ts";
import type { PointerShape } from "./_pointer_shape.ts";
import type { Frame } from "./frame.ts";
import type { Rect } from "./rect.ts";

/** Copies a part of the screen, which is known to be inside. */
export function copyFrame(screen: Framebuffer, region: Rect, generation: number): Frame {
  const { x, y, width, height } = region;
  const data = new Uint8Array(width * height * 4);
  for (let row = 0; row < height; row++) {
    const from = ((y + row) * screen.width + x) * 4;
    data.set(screen.bytes.subarray(from, from + width * 4), row * width * 4);
  }
  return { width, height, data, generation, x, y };
}

/** Whether the screen shows something else where a frame was taken. */
export function differs(screen: Framebuffer, frame: Frame): boolean {
  const { x, y, width, height, data } = frame;
  if (x + width > screen.width || y + height > screen.height) return true;
  for (let row = 0; row < height; row++) {
    const from = ((y + row) * screen.width + x) * 4;
    const shown = Buffer.from(screen.bytes.buffer, from, width * 4);
    if (shown.compare(data, row * width * 4, (row + 1) * width * 4) !== 0) return true;
  }
  return false;
}

/** Draws the pointer into a frame. */
export function drawPointer(frame: Frame, shape: PointerShape, at: { x: number; y: number }): void {
  const left = at.x - shape.hotX - frame.x;
  const top = at.y - shape.hotY - frame.y;
  for (let row = Math.max(0, -top); row < Math.min(shape.height, frame.height - top); row++) {
    for (let column = Math.max(0, -left); column < Math.min(shape.width, frame.width - left); column++) {
      const from = (row * shape.width + column) * 4;
      if (shape.data[from + 3] === 0) continue;
      frame.data.set(shape.data.subarray(from, from + 4), ((top + row) * frame.width + left + column) * 4);
    }
  }
}
