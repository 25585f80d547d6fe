import type { PointerShape } from "./_pointer_shape.ts";
import type { Rect } from "./rect.ts";

/** What the protocol core tells whoever drives it. */
export type RfbEvent =
  /** Bytes for the server. */
  | { readonly type: "send"; readonly data: Buffer }
  /** The handshake is through. */
  | { readonly type: "ready" }
  /** Pixels have changed. */
  | { readonly type: "update"; readonly rects: readonly Rect[] }
  /** Every pixel of the screen has been told at least once. */
  | { readonly type: "complete" }
  /** The screen has another size. */
  | { readonly type: "resize"; readonly width: number; readonly height: number }
  /** The answer to SetDesktopSize: 0 is yes. */
  | { readonly type: "resize-reply"; readonly status: number }
  /** The pointer looks otherwise. */
  | { readonly type: "cursor"; readonly cursor: PointerShape | undefined }
  /** The pointer was moved at the other side. */
  | { readonly type: "pointer"; readonly x: number; readonly y: number }
  /** Text was copied at the other side. */
  | { readonly type: "clipboard"; readonly text: string }
  /** The server says who it is. */
  | { readonly type: "identity" }
  /** The answer to a fence. */
  | { readonly type: "fence"; readonly payload: Buffer }
  | { readonly type: "bell" };

/** What the server has shown that it can do. */
export interface ServerAbilities {
  fence: boolean;
  continuousUpdates: boolean;
  extendedDesktopSize: boolean;
  qemuKey: boolean;
  /** Flags of the extended clipboard, 0 without it. */
  extendedClipboard: number;
  /** The largest text that it takes by the extended clipboard. */
  clipboardBytes: number;
  /** What a server made with LibVNCServer says it is. */
  identity: string;
}
