import { MAX_FRAME_BYTES } from "@envport/wire";
import { MAX_TIMER_MS } from "./_within.ts";
import type { ServeOptions } from "./serve.ts";

/** The numbers of a server; its documentation is that of the options. */
export interface Limits {
  maxConnections: number;
  maxFrameBytes: number;
  prefaceTimeout: number;
  dialTimeout: number;
  halfCloseTimeout: number;
  parkTtl: number;
  maxParked: number;
  resultTtl: number;
  cancelGrace: number;
  shutdownGrace: number;
}

const DEFAULTS: Limits = {
  maxConnections: 10_000,
  maxFrameBytes: MAX_FRAME_BYTES,
  prefaceTimeout: 10_000,
  dialTimeout: 10_000,
  halfCloseTimeout: 120_000,
  parkTtl: 3_600_000,
  maxParked: 1_000,
  resultTtl: 900_000,
  cancelGrace: 5_000,
  shutdownGrace: 10_000,
};

/** Times that one timer runs for; a longer one would fire at once. */
const TIMERS: ReadonlySet<string> = new Set([
  "prefaceTimeout",
  "dialTimeout",
  "halfCloseTimeout",
  "cancelGrace",
  "shutdownGrace",
]);

/**
 * Fills in the defaults.
 *
 * @param options What the author said.
 * @throws {RangeError} If a number makes no sense.
 */
export function resolveLimits(options: ServeOptions): Limits {
  const limits: Limits = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS) as (keyof Limits)[]) {
    limits[name] = options[name] ?? DEFAULTS[name];
    checkNumber(name, limits[name], TIMERS.has(name) ? MAX_TIMER_MS : Infinity);
  }
  return limits;
}

/**
 * Checks a number that an author gave.
 *
 * @param name What the error calls it.
 * @param value The number.
 * @param max The largest that makes sense.
 * @throws {RangeError} If it is none from 0 to `max`.
 */
export function checkNumber(name: string, value: number, max: number): void {
  if (typeof value === "number" && value >= 0 && value <= max) return;
  throw new RangeError(
    `Cannot use '${name}' as it must be 0 to ${String(max)}: current value is ${String(value)}`,
  );
}
