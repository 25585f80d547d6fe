import type { Rect } from "./rect.ts";

/** What has changed on the screen since the last one. */
export interface ScreenUpdate {
  /** Where; one that covers all of them if there were many. */
  readonly rects: readonly Rect[];
  /** The screen's size. */
  readonly width: number;
  readonly height: number;
  /** How many updates the screen has seen. */
  readonly generation: number;
}
