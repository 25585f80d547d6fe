import { setTimeout as sleep } from "node:timers/promises";
import { CdpError } from "./cdp_error.ts";
import type { CdpSendOptions } from "./cdp_messages.ts";
import type { CdpPage } from "./cdp_page.ts";
import type { LocateOptions, Point } from "./cdp_page_options.ts";

const FIND_TIMEOUT_MS = 5_000;
const PAUSE_MS = 100;

/**
 * Finds the middle of what is visible of an element, scrolling it into view; waits until there is something.
 *
 * @throws {CdpError} `not-found`, or `evaluation-failed` if the selector is malformed.
 */
export async function locate(page: CdpPage, selector: string, options: LocateOptions): Promise<Point> {
  const { findTimeout = FIND_TIMEOUT_MS, ...rest } = options;
  const deadline = performance.now() + findTimeout;
  for (;;) {
    const objectId = await find(page, selector, rest);
    const point = objectId === undefined ? undefined : await middleOf(page, objectId, rest);
    if (point) return point;
    if (performance.now() >= deadline) {
      const what = objectId === undefined ? "no element matches" : "the element is not visible";
      throw new CdpError(
        "not-found",
        `Cannot act on '${selector}' as ${what} within ${String(findTimeout)} ms`,
      );
    }
    await sleep(PAUSE_MS, undefined, { signal: options.signal });
  }
}

async function find(page: CdpPage, selector: string, options: CdpSendOptions): Promise<string | undefined> {
  const expression = `document.querySelector(${JSON.stringify(selector)})`;
  const { result, exceptionDetails } = await page.send("Runtime.evaluate", { expression }, options);
  if (!exceptionDetails) return result.objectId;
  const told = exceptionDetails.exception?.description ?? exceptionDetails.text;
  throw new CdpError("evaluation-failed", `Cannot find '${selector}' as the page refuses it: ${told}`);
}

async function middleOf(
  page: CdpPage,
  objectId: string,
  options: CdpSendOptions,
): Promise<Point | undefined> {
  try {
    await page.send("DOM.scrollIntoViewIfNeeded", { objectId }, options);
    const { quads } = await page.send("DOM.getContentQuads", { objectId }, options);
    return quads
      .map(([x1, y1, x2, , x3, y3]) => ({
        area: Math.abs((x2! - x1!) * (y3! - y1!)),
        point: { x: (x1! + x3!) / 2, y: (y1! + y3!) / 2 },
      }))
      .find(({ area }) => area > 0)?.point;
  } catch (error) {
    // It is not laid out, or was taken out of the page meanwhile.
    if (error instanceof CdpError && error.code === "refused") return undefined;
    throw error;
  } finally {
    page.send("Runtime.releaseObject", { objectId }, options).catch(() => undefined);
  }
}
