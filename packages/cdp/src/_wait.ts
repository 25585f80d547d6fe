import { EnvportError } from "@envport/wire";
import { CdpError } from "./cdp_error.ts";
import type { CdpPage } from "./cdp_page.ts";

/** How long to wait for something of a page, and what to call it. */
export interface WaitOptions {
  readonly act: string;
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits for what a page tells by its events, but not longer than the page lives.
 *
 * @param watch Is given a way to say that it has come; returns how to stop watching.
 * @throws {EnvportError} `timeout`
 * @throws {CdpError} `target-crashed`, `target-closed`
 */
export async function waitOnPage<T>(
  page: CdpPage,
  { act, timeout, signal }: WaitOptions,
  watch: (done: (value: T) => void) => () => void,
): Promise<T> {
  signal?.throwIfAborted();
  const ends: (() => void)[] = [];
  try {
    return await new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        const dialog = page.dialog ? ` while a dialog is open: ${JSON.stringify(page.dialog.message)}` : "";
        const rule = `it did not come about within ${String(timeout)} ms${dialog}`;
        reject(new EnvportError("timeout", `Cannot ${act} as ${rule}`));
      }, timeout);
      const crash = (): void =>
        reject(new CdpError("target-crashed", `Cannot ${act} as the page has crashed`));
      const close = (): void => reject(new CdpError("target-closed", `Cannot ${act} as the page is gone`));
      const abort = (): void => reject(signal!.reason as Error);
      page.on("crash", crash).on("close", close);
      signal?.addEventListener("abort", abort);
      ends.push(() => {
        clearTimeout(timer);
        page.off("crash", crash).off("close", close);
        signal?.removeEventListener("abort", abort);
      });
      ends.push(watch(resolve));
      if (page.closed) close();
      else if (page.crashed) crash();
    });
  } finally {
    for (const end of ends) end();
  }
}
