import type { LiveSession } from "./_link.ts";
import type { Rect } from "./rect.ts";
import type { ScreenUpdate } from "./screen_update.ts";

/** As many rectangles are told one by one. */
const MAX_RECTS = 256;

/** Updates as a stream; what comes while nobody asks is joined. */
export async function* followUpdates(
  open: () => Promise<LiveSession>,
  generation: () => number,
  signal: AbortSignal | undefined,
): AsyncGenerator<ScreenUpdate, void, void> {
  const { session } = await open();
  const { screen } = session.core;
  let rects: Rect[] = [];
  let wake: (() => void) | undefined;
  const rouse = (): void => wake?.();
  const stop = session.listen((event) => {
    if (event.type === "update") rects.push(...event.rects);
    else if (event.type === "resize") rects = [{ x: 0, y: 0, width: event.width, height: event.height }];
    else return;
    if (rects.length > MAX_RECTS) rects = [hull(rects)];
    rouse();
  });
  session.lost.addEventListener("abort", rouse);
  signal?.addEventListener("abort", rouse);
  try {
    for (;;) {
      signal?.throwIfAborted();
      if (rects.length === 0) {
        session.lost.throwIfAborted();
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      const told = rects;
      rects = [];
      yield { rects: told, width: screen.width, height: screen.height, generation: generation() };
    }
  } finally {
    stop();
    session.lost.removeEventListener("abort", rouse);
    signal?.removeEventListener("abort", rouse);
  }
}

/** The smallest rectangle that holds them all. */
function hull(rects: readonly Rect[]): Rect {
  const x = Math.min(...rects.map((rect) => rect.x));
  const y = Math.min(...rects.map((rect) => rect.y));
  const right = Math.max(...rects.map((rect) => rect.x + rect.width));
  const bottom = Math.max(...rects.map((rect) => rect.y + rect.height));
  return { x, y, width: right - x, height: bottom - y };
}
