import { EnvportError } from "@envport/wire";
import type { CdpSendOptions } from "./cdp_messages.ts";

/* eslint-disable @typescript-eslint/ban-ts-comment -- an optional peer: where it is not installed, the type is any */
/**
 * `Browser` of `playwright-core`.
 *
 * @ts-ignore */
export type PlaywrightBrowser = import("playwright-core").Browser;
/* eslint-enable */

const TIMEOUT_MS = 30_000;

/** See `CdpClient.playwright`. */
export async function connectPlaywright(
  socketUrl: string,
  { timeout = TIMEOUT_MS, signal }: CdpSendOptions,
): Promise<PlaywrightBrowser> {
  const { chromium } = await import("playwright-core").catch((cause: unknown) => {
    throw new EnvportError(
      "unsupported",
      "Cannot use Playwright as playwright-core is not installed: npm install playwright-core",
      { cause },
    );
  });
  signal?.throwIfAborted();
  // Without overrides of its own: downloads, focus and media are the environment's business.
  const browser = await chromium.connectOverCDP(socketUrl, { noDefaults: true, timeout });
  if (signal?.aborted) {
    await browser.close();
    signal.throwIfAborted();
  }
  return browser;
}
