import type { CdpSendOptions } from "./cdp_messages.ts";

/** A place in the viewport, in CSS pixels from its upper left corner. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Options of `CdpPage.goto`. */
export interface GotoOptions extends CdpSendOptions {
  /**
   * What to wait for: `commit` (the answer has begun), `domcontentloaded`, `load`, or `networkidle` (loaded, and nothing
   * asked for during 500 ms).
   *
   * @default {"load"}
   */
  waitUntil?: "commit" | "domcontentloaded" | "load" | "networkidle" | undefined;
}

/** Options of `CdpPage.waitForIdle`. */
export interface IdleOptions extends CdpSendOptions {
  /**
   * Milliseconds without a request.
   *
   * @default {500}
   */
  idleTime?: number | undefined;
}

/** Options of `CdpPage.screenshot`. */
export interface ScreenshotOptions extends CdpSendOptions {
  /** @default {"png"} */
  format?: "png" | "jpeg" | "webp" | undefined;
  /** 0 to 100, for jpeg and webp. */
  quality?: number | undefined;
  /**
   * The whole page, not only what is visible.
   *
   * @default {false}
   */
  fullPage?: boolean | undefined;
  /** A part of the page, in CSS pixels from the page's upper left corner. */
  clip?: { x: number; y: number; width: number; height: number } | undefined;
}

/** Options of actions that may have to find an element first. */
export interface LocateOptions extends CdpSendOptions {
  /**
   * Milliseconds until the element has to be visible.
   *
   * @default {5_000}
   */
  findTimeout?: number | undefined;
}

/** Options of `CdpPage.click`. */
export interface ClickOptions extends LocateOptions {
  /** @default {"left"} */
  button?: "left" | "right" | "middle" | undefined;
  /**
   * 2 is a double click.
   *
   * @default {1}
   */
  count?: number | undefined;
  /** Keys that are held. */
  modifiers?: readonly ("Alt" | "Control" | "Meta" | "Shift")[] | undefined;
}

/** Options of `CdpPage.type`. */
export interface TypeOptions extends LocateOptions {
  /** A CSS selector of the field that is to have the focus. */
  into?: string | undefined;
  /**
   * Replaces what is in the field.
   *
   * @default {false}
   */
  replace?: boolean | undefined;
}

/** Options of `CdpPage.scroll`. */
export interface ScrollOptions extends LocateOptions {
  /**
   * A CSS selector or a point: where the pointer is.
   *
   * @default the middle of the viewport
   */
  at?: string | Point | undefined;
  /**
   * CSS pixels; right is positive.
   *
   * @default {0}
   */
  deltaX?: number | undefined;
}

/** Options of `CdpPage.evaluate`. */
export interface EvaluateOptions<A extends unknown[] = unknown[]> extends CdpSendOptions {
  /** Arguments of the function: plain data. */
  args?: A | undefined;
}
