import type { AbortOptions } from "@envport/wire";
import type { Rect } from "./rect.ts";
import type { Screenshot } from "./screenshot.ts";

/** An encoding of pixels. */
export type PixelEncoding = "raw" | "copy-rect" | "rre" | "hextile" | "zlib" | "zrle" | "tight";

/** Options of `RfbClient.connect`. */
export interface RfbConnectOptions extends AbortOptions {
  /**
   * Milliseconds from the dial to the first whole screen.
   *
   * @default {20_000}
   */
  readyTimeout?: number | undefined;
  /**
   * What to ask the server for, the best first.
   *
   * @default {`["copy-rect", "raw"]`} where the server is at most 5 ms away, else Tight, ZRLE and Hextile before `raw`
   */
  encodings?: readonly PixelEncoding[] | undefined;
  /**
   * Lets the server use JPEG in Tight rectangles, 0 (worst) to 9. Screenshots are then no longer exact.
   *
   * @default no JPEG
   */
  jpegQuality?: number | undefined;
  /**
   * What encodes screenshots: the `sharp` package, or our own encoder, which makes PNG only.
   *
   * @default `sharp` if it is installed
   */
  imageEncoder?: "sharp" | "own" | undefined;
}

/** Where coordinates are measured. */
export interface SpaceOptions extends AbortOptions {
  /**
   * A screenshot whose pixels the coordinates are, or the screen itself.
   *
   * @default the latest screenshot of the whole screen; before one is taken, the screen
   */
  on?: Screenshot | "screen" | undefined;
}

/** A button of the pointer. */
export type PointerButton = "left" | "middle" | "right" | "back";

/** Options of `click` and `doubleClick`. */
export interface ClickOptions extends SpaceOptions {
  /** @default {"left"} */
  button?: PointerButton | undefined;
  /** Keys held meanwhile: `"ctrl+shift"`. */
  modifiers?: string | undefined;
  /**
   * Clicks in a row.
   *
   * @default {1}
   */
  count?: number | undefined;
  /**
   * Milliseconds that the button is down.
   *
   * @default {30}
   */
  holdTime?: number | undefined;
  /**
   * Milliseconds between clicks in a row.
   *
   * @default {80}
   */
  interval?: number | undefined;
}

/** Options of `drag`. */
export interface DragOptions extends SpaceOptions {
  /** @default {"left"} */
  button?: PointerButton | undefined;
  /** Keys held meanwhile. */
  modifiers?: string | undefined;
  /**
   * Milliseconds to wait at both ends.
   *
   * @default {50}
   */
  holdTime?: number | undefined;
  /**
   * Pixels of the screen per move.
   *
   * @default {16}
   */
  step?: number | undefined;
  /**
   * Milliseconds between moves.
   *
   * @default {8}
   */
  interval?: number | undefined;
}

/** Options of `scroll`. */
export interface ScrollOptions extends SpaceOptions {
  /**
   * To the right; negative is to the left.
   *
   * @default {0}
   */
  dx?: number | undefined;
  /**
   * Down; negative is up.
   *
   * @default {0}
   */
  dy?: number | undefined;
  /**
   * What `dx` and `dy` count: clicks of the wheel, or pixels, 100 of which are a click.
   *
   * @default {"clicks"}
   */
  unit?: "clicks" | "pixels" | undefined;
  /** Keys held meanwhile. */
  modifiers?: string | undefined;
}

/** Options of `press`. */
export interface PressOptions extends AbortOptions {
  /**
   * Milliseconds that the keys are down.
   *
   * @default {10}
   */
  holdTime?: number | undefined;
  /**
   * How often.
   *
   * @default {1}
   */
  count?: number | undefined;
}

/** Options of `type`. */
export interface TypeOptions extends AbortOptions {
  /**
   * `keys` presses a key for each character; `paste` puts the text on the clipboard and presses `pasteKeys`; `auto`
   * takes keys as long as the server can make enough of them.
   *
   * @default {"auto"}
   */
  via?: "auto" | "keys" | "paste" | undefined;
  /**
   * What pastes in the window that has the focus.
   *
   * @default {"shift+insert"}
   */
  pasteKeys?: string | undefined;
}

/** Options of `frame`. */
export interface FrameOptions extends AbortOptions {
  /**
   * The part of the screen, in its own pixels.
   *
   * @default all of it
   */
  region?: Rect | undefined;
  /**
   * Draws the pointer, where this client has moved it.
   *
   * @default {false}
   */
  pointer?: boolean | undefined;
  /**
   * Waits until the server has seen all input so far and told what it knew by then.
   *
   * @default {true}
   */
  fresh?: boolean | undefined;
}

/** Options of `screenshot`. */
export interface ScreenshotOptions extends FrameOptions {
  /**
   * JPEG and WebP need the `sharp` package.
   *
   * @default {"png"}
   */
  format?: "png" | "jpeg" | "webp" | undefined;
  /**
   * Of JPEG and WebP, 1 to 100.
   *
   * @default {85}
   */
  quality?: number | undefined;
  /**
   * Pixels of the image per pixel of the screen, at most 1; or the box to fit into.
   *
   * @default {1}
   */
  scale?: number | { readonly maxWidth: number; readonly maxHeight: number } | undefined;
  /** Lowers first the quality, then the scale, until the image has at most as many bytes. */
  maxBytes?: number | undefined;
}

/** Options of the waiting methods. */
export interface WaitOptions extends AbortOptions {
  /**
   * Milliseconds to wait at most.
   *
   * @default {10_000}
   */
  timeout?: number | undefined;
  /**
   * The part of the screen to look at, in its own pixels.
   *
   * @default all of it
   */
  region?: Rect | undefined;
}

/** Options of `waitForSettle`. */
export interface SettleOptions extends WaitOptions {
  /**
   * Milliseconds without a change.
   *
   * @default {150}
   */
  quiet?: number | undefined;
  /** Parts that may change: a clock, a caret. */
  ignore?: readonly Rect[] | undefined;
}
