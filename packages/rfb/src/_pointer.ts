import type { LiveSession } from "./_link.ts";
import { screenSpace, toScreen } from "./_space.ts";
import type { Space } from "./_space.ts";
import { delay } from "./_timing.ts";
import type { ClickOptions, DragOptions, PointerButton, ScrollOptions } from "./rfb_client_options.ts";
import { holding } from "./_keyboard.ts";
import { SHIFT } from "./_keysyms.ts";

const BUTTONS: Readonly<Record<PointerButton, number>> = {
  left: 1,
  middle: 2,
  right: 4,
  back: 128,
};
const WHEEL = { up: 8, down: 16, left: 32, right: 64 };
const MAX_CLICKS = 50;
const PIXELS_A_CLICK = 100;
const WHEEL_MS = 8;

/** Coordinates as a caller means them, on a session's screen. */
export function locate(live: LiveSession, space: Space | undefined, x: number, y: number): [number, number] {
  const { screen } = live.session.core;
  const [screenX, screenY] = toScreen(space ?? screenSpace(screen), x, y);
  // The screen may have become smaller since the image was taken.
  return toScreen(screenSpace(screen), screenX, screenY);
}

/** The bit of a button. */
export function buttonMask(button: PointerButton): number {
  const mask = BUTTONS[button] as number | undefined;
  if (mask) return mask;
  throw new TypeError(
    `Cannot press button as it must be 'left', 'middle', 'right' or 'back': current value is '${button}'`,
  );
}

/** Clicks where the pointer is. */
export async function clickHere({ session, input }: LiveSession, options: ClickOptions): Promise<void> {
  const { button = "left", modifiers, count = 1, holdTime = 30, interval = 80, signal } = options;
  const mask = buttonMask(button);
  await holding(input, modifiers, async () => {
    for (let i = 0; i < count; i++) {
      if (i > 0) await delay(interval, signal, session.lost);
      input.button(mask, true);
      try {
        await delay(holdTime, signal, session.lost);
      } finally {
        input.button(mask, false);
      }
    }
  });
  session.lost.throwIfAborted();
}

/** Presses the button, moves to a place bit by bit, and lets go. */
export async function dragTo(
  live: LiveSession,
  to: readonly [number, number],
  options: DragOptions,
): Promise<void> {
  const { input } = live;
  const { button = "left", modifiers, holdTime = 50, step = 16, interval = 8, signal } = options;
  const mask = buttonMask(button);
  const [fromX, fromY] = [input.x, input.y];
  const steps = Math.max(1, Math.ceil(Math.hypot(to[0] - fromX, to[1] - fromY) / Math.max(1, step)));
  await holding(input, modifiers, async () => {
    input.button(mask, true);
    try {
      await delay(holdTime, signal, live.session.lost);
      for (let i = 1; i <= steps; i++) {
        const part = i / steps;
        input.move(Math.round(fromX + (to[0] - fromX) * part), Math.round(fromY + (to[1] - fromY) * part));
        await delay(interval, signal, live.session.lost);
      }
      await delay(holdTime, signal, live.session.lost);
    } finally {
      input.button(mask, false);
    }
  });
  live.session.lost.throwIfAborted();
}

/** Turns the wheel where the pointer is. */
export async function scrollHere(live: LiveSession, options: ScrollOptions): Promise<void> {
  const { dx = 0, dy = 0, unit = "clicks", modifiers, signal } = options;
  const { session, input } = live;
  await holding(input, modifiers, async () => {
    await turn(live, dy > 0 ? WHEEL.down : WHEEL.up, clicks(dy, unit), signal);
    // x11vnc knows no buttons beyond the wheel's two; programs take Shift for the other axis.
    const sideways = session.kind === "x11vnc";
    const [left, right] = sideways ? [WHEEL.up, WHEEL.down] : [WHEEL.left, WHEEL.right];
    await holding(input, sideways && dx !== 0 ? [SHIFT] : undefined, () =>
      turn(live, dx > 0 ? right : left, clicks(dx, unit), signal),
    );
  });
  session.lost.throwIfAborted();
}

/** As fast as a hand: servers have been seen to drop what comes all at once. */
async function turn(
  { session, input }: LiveSession,
  mask: number,
  count: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let i = 0; i < count; i++) {
    input.button(mask, true);
    input.button(mask, false);
    await delay(WHEEL_MS, signal, session.lost);
  }
}

function clicks(delta: number, unit: "clicks" | "pixels"): number {
  if (!Number.isFinite(delta)) {
    throw new RangeError(`Cannot scroll as 'dx' and 'dy' must be numbers: current value is ${String(delta)}`);
  }
  if (delta === 0) return 0;
  const count = Math.abs(unit === "pixels" ? delta / PIXELS_A_CLICK : delta);
  return Math.min(MAX_CLICKS, Math.max(1, Math.round(count)));
}
