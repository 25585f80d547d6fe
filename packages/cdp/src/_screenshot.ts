import type { CdpPage } from "./cdp_page.ts";
import type { ScreenshotOptions } from "./cdp_page_options.ts";

/** See `CdpPage.screenshot`. */
export async function screenshot(
  page: CdpPage,
  { format = "png", quality, fullPage = false, clip, ...options }: ScreenshotOptions,
): Promise<Buffer> {
  if (quality !== undefined && (format === "png" || !(quality >= 0 && quality <= 100))) {
    const rule = format === "png" ? "png has no quality" : "its quality must be 0 to 100";
    throw new RangeError(`Cannot take screenshot as ${rule}: current value is ${String(quality)}`);
  }
  if (fullPage && clip)
    throw new TypeError("Cannot take screenshot as 'fullPage' and 'clip' exclude each other");
  const area = fullPage ? await contentArea(page, options) : clip;
  const { data } = await page.send(
    "Page.captureScreenshot",
    {
      format,
      ...(quality === undefined ? {} : { quality }),
      ...(area ? { clip: { ...area, scale: 1 }, captureBeyondViewport: true } : {}),
    },
    options,
  );
  return Buffer.from(data, "base64");
}

async function contentArea(
  page: CdpPage,
  options: ScreenshotOptions,
): Promise<NonNullable<ScreenshotOptions["clip"]>> {
  const { cssContentSize } = await page.send("Page.getLayoutMetrics", undefined, options);
  return { ...cssContentSize, x: 0, y: 0 };
}
