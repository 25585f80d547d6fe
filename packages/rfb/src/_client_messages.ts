import { deflateSync, constants } from "node:zlib";
import type { Rect } from "./rect.ts";

/** Depth 24 in 32 bits, red the first byte in memory. */
const PIXEL_FORMAT = Buffer.from([32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 0, 8, 16, 0, 0, 0]);

/** Bits of an extended clipboard message. */
export const ClipboardFlag: Readonly<
  Record<"text" | "caps" | "request" | "peek" | "notify" | "provide", number>
> = {
  text: 1,
  caps: 1 << 24,
  request: 1 << 25,
  peek: 1 << 26,
  notify: 1 << 27,
  provide: 1 << 28,
};

/** The largest clipboard text in bytes. */
export const MAX_CLIPBOARD_BYTES: number = 16 * 1024 * 1024;

/** SetPixelFormat (RFC 6143, 7.5.1). */
export function setPixelFormat(): Buffer {
  return Buffer.concat([Buffer.alloc(4), PIXEL_FORMAT]);
}

/** SetEncodings (7.5.2). */
export function setEncodings(encodings: readonly number[]): Buffer {
  const message = Buffer.alloc(4 + encodings.length * 4);
  message[0] = 2;
  message.writeUInt16BE(encodings.length, 2);
  encodings.forEach((encoding, i) => message.writeInt32BE(encoding, 4 + i * 4));
  return message;
}

/** FramebufferUpdateRequest (7.5.3). */
export function updateRequest(incremental: boolean, area: Rect): Buffer {
  return rectMessage(3, incremental, area);
}

/** KeyEvent (7.5.4). */
export function keyEvent(keysym: number, down: boolean): Buffer {
  const message = Buffer.alloc(8);
  message[0] = 4;
  message[1] = Number(down);
  message.writeUInt32BE(keysym, 4);
  return message;
}

/** QEMU Extended Key Event: the keysym, and the key's place on a PC keyboard. */
export function qemuKeyEvent(keysym: number, keycode: number, down: boolean): Buffer {
  const message = Buffer.alloc(12);
  message[0] = 255;
  message.writeUInt16BE(Number(down), 2);
  message.writeUInt32BE(keysym, 4);
  message.writeUInt32BE(keycode, 8);
  return message;
}

/** PointerEvent (7.5.5). */
export function pointerEvent(x: number, y: number, buttons: number): Buffer {
  return Buffer.from([5, buttons, x >> 8, x & 255, y >> 8, y & 255]);
}

/** ClientCutText (7.5.6). */
export function cutText(text: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head[0] = 6;
  head.writeUInt32BE(text.length, 4);
  return Buffer.concat([head, text]);
}

/** ClientCutText of the extended clipboard: the length is negative, flags come first. */
export function extendedCutText(flags: number, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(12);
  head[0] = 6;
  head.writeInt32BE(-(4 + body.length), 4);
  head.writeUInt32BE(flags >>> 0, 8);
  return Buffer.concat([head, body]);
}

/** What we can do with the extended clipboard: text, of a size. */
export function clipboardCaps(): Buffer {
  const { text, caps, request, peek, notify, provide } = ClipboardFlag;
  const size = Buffer.alloc(4);
  size.writeUInt32BE(MAX_CLIPBOARD_BYTES);
  return extendedCutText(caps | request | peek | notify | provide | text, size);
}

/** Hands over text. The zlib stream is flushed and not finished: libvncserver drops the connection at a finished one. */
export function clipboardProvide(text: string): Buffer {
  const bytes = Buffer.from(`${text.replace(/\r\n|\r|\n/g, "\r\n")}\0`, "utf8");
  const size = Buffer.alloc(4);
  size.writeUInt32BE(bytes.length);
  const data = deflateSync(Buffer.concat([size, bytes]), { finishFlush: constants.Z_SYNC_FLUSH });
  return extendedCutText(ClipboardFlag.provide | ClipboardFlag.text, data);
}

/** EnableContinuousUpdates. */
export function continuousUpdates(enable: boolean, area: Rect): Buffer {
  return rectMessage(150, enable, area);
}

/** ClientFence. */
export function clientFence(flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head[0] = 248;
  head.writeUInt32BE(flags >>> 0, 4);
  head[8] = payload.length;
  return Buffer.concat([head, payload]);
}

/** A screen of a desktop, as ExtendedDesktopSize tells it. */
export interface DesktopScreen {
  readonly id: number;
  readonly flags: number;
}

/** SetDesktopSize, with one screen. */
export function setDesktopSize(width: number, height: number, screen: DesktopScreen): Buffer {
  const message = Buffer.alloc(24);
  message[0] = 251;
  message.writeUInt16BE(width, 2);
  message.writeUInt16BE(height, 4);
  message[6] = 1;
  message.writeUInt32BE(screen.id, 8);
  message.writeUInt16BE(width, 16);
  message.writeUInt16BE(height, 18);
  message.writeUInt32BE(screen.flags, 20);
  return message;
}

function rectMessage(type: number, flag: boolean, { x, y, width, height }: Rect): Buffer {
  const message = Buffer.alloc(10);
  message[0] = type;
  message[1] = Number(flag);
  [x, y, width, height].forEach((value, i) => message.writeUInt16BE(value, 2 + i * 2));
  return message;
}
