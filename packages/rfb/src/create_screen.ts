import { Screen } from "./screen.ts";
import type { ScreenOptions } from "./screen_options.ts";

/**
 * A screen as a service: `env.use(screen({ run: ["xterm"] }))` starts a display and a VNC server, publishes it, and
 * stops it with everything on it.
 *
 * @param options Its size, its server, the programs on it.
 * @throws {RangeError} If the size is not 16 to 16384 pixels, or the password longer than 8 bytes.
 *
 * @example
 * ```ts
 * import { screen } from "@envport/rfb";
 * import assert from "node:assert/strict";
 *
 * const desktop = screen({ width: 800, height: 600, run: ["xterm"] });
 * assert.equal(desktop.name, "screen 'screen'");
 * ```
 */
export function screen(options: ScreenOptions = {}): Screen {
  return new Screen(options);
}
