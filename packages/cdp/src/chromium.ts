import type { ChromiumOptions } from "./chromium_options.ts";
import { ChromiumService } from "./chromium_service.ts";

/**
 * Runs a browser of the Chromium family, for `env.use`.
 *
 * @param options Which one, and what it may reach.
 * @throws {TypeError} If options contradict each other, or `args` has a word about remote debugging or the profile.
 * @throws {RangeError} If the viewport is not of positive integers, or a port is none.
 *
 * @example
 * ```ts no-run
 * import { chromium } from "@envport/cdp";
 * import { Environment, serve } from "@envport/server";
 *
 * const env = new Environment({ name: "web" });
 * env.use(chromium({ peers: [{ name: "shop.example", port: 80, target: { port: 41_234 } }] }));
 * await serve(env, { port: 8765 });
 * ```
 */
export function chromium(options?: ChromiumOptions): ChromiumService {
  return new ChromiumService(options);
}
