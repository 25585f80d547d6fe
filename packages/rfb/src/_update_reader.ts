import type { ByteQueue, Parse } from "./_byte_queue.ts";
import type { DesktopScreen } from "./_client_messages.ts";
import { decodeCopyRect } from "./_decode_copy_rect.ts";
import { decodeHextile } from "./_decode_hextile.ts";
import { decodeRaw } from "./_decode_raw.ts";
import { decodeRre } from "./_decode_rre.ts";
import { decodeTight } from "./_decode_tight.ts";
import { decodeZlib } from "./_decode_zlib.ts";
import { decodeZrle } from "./_decode_zrle.ts";
import { Decoding } from "./_decoding.ts";
import type { Decode } from "./_decoding.ts";
import { Encoding } from "./_encodings.ts";
import type { Framebuffer } from "./_framebuffer.ts";
import { readPointerShape } from "./_pointer_shape.ts";
import type { RfbEvent, ServerAbilities } from "./_rfb_event.ts";
import { violation } from "./_violation.ts";
import type { Rect } from "./rect.ts";

/** Each encoding's decoder: one file each. */
const DECODERS: ReadonlyMap<number, Decode> = new Map([
  [Encoding.raw, decodeRaw],
  [Encoding.copyRect, decodeCopyRect],
  [Encoding.rre, decodeRre],
  [Encoding.hextile, decodeHextile],
  [Encoding.zlib, decodeZlib],
  [Encoding.tight, decodeTight],
  [Encoding.zrle, decodeZrle],
]);

/** A count of rectangles that is not known; one of its own ends them. */
const UNTIL_LAST = 0xffff;
const MAX_TEXT = 1 << 20;

/** What an update tells beside its pixels goes here. */
export interface Desktop {
  readonly screen: Framebuffer;
  readonly abilities: ServerAbilities;
  name: string;
  screens: readonly DesktopScreen[];
}

/** Reads FramebufferUpdate messages (RFC 6143, 7.6.1). */
export class UpdateReader {
  readonly #queue: ByteQueue;
  readonly #desktop: Desktop;
  readonly #emit: (event: RfbEvent) => void;
  readonly #decoding: Decoding;
  #resized = false;

  constructor(queue: ByteQueue, desktop: Desktop, emit: (event: RfbEvent) => void) {
    this.#queue = queue;
    this.#desktop = desktop;
    this.#emit = emit;
    this.#decoding = new Decoding(queue, desktop.screen);
  }

  /** Reads one update, from behind its type. */
  *read(): Parse<{ rects: Rect[]; pixels: number; resized: boolean }> {
    const queue = this.#queue;
    if (queue.available < 3) yield 3;
    queue.offset += 1;
    const count = queue.u16();
    const rects: Rect[] = [];
    let pixels = 0;
    this.#resized = false;
    for (let i = 0; i < count || count === UNTIL_LAST; i++) {
      if (queue.available < 12) yield 12;
      const rect = { x: queue.u16(), y: queue.u16(), width: queue.u16(), height: queue.u16() };
      const encoding = queue.s32();
      if (encoding === Encoding.lastRect) break;
      const decode = DECODERS.get(encoding);
      if (decode) {
        this.#desktop.screen.check(rect);
        yield* decode(this.#decoding, rect);
        addRect(rects, rect);
        pixels += rect.width * rect.height;
      } else yield* this.#pseudo(encoding, rect);
    }
    return { rects, pixels, resized: this.#resized };
  }

  *#pseudo(encoding: number, rect: Rect): Parse {
    const { abilities } = this.#desktop;
    if (encoding === Encoding.cursor) {
      this.#emit({ type: "cursor", cursor: yield* readPointerShape(this.#decoding, rect) });
    } else if (encoding === Encoding.desktopSize) this.#resize(rect.width, rect.height);
    else if (encoding === Encoding.extendedDesktopSize) yield* this.#extendedSize(rect);
    else if (encoding === Encoding.pointerPosition) this.#emit({ type: "pointer", x: rect.x, y: rect.y });
    else if (encoding === Encoding.desktopName) this.#desktop.name = yield* this.#name();
    else if (encoding === Encoding.qemuKey) abilities.qemuKey = true;
    else if (encoding === Encoding.serverIdentity) {
      if (this.#queue.available < rect.width) yield rect.width;
      abilities.identity = this.#queue.view(rect.width).toString("latin1").replace(/\0.*$/s, "");
      this.#emit({ type: "identity" });
    } else throw violation("a rectangle is of an encoding that was asked for", encoding);
  }

  /** `x` says who wanted it (1 is this client), `y` whether it was done. */
  *#extendedSize({ x, y, width, height }: Rect): Parse {
    const queue = this.#queue;
    if (queue.available < 4) yield 4;
    const count = queue.u8();
    queue.offset += 3;
    if (queue.available < count * 16) yield count * 16;
    const screens = Array.from({ length: count }, () => {
      const id = queue.u32();
      queue.offset += 8;
      return { id, flags: queue.u32() };
    });
    this.#desktop.abilities.extendedDesktopSize = true;
    this.#desktop.screens = screens;
    if (x !== 1 || y === 0) this.#resize(width, height);
    if (x === 1) this.#emit({ type: "resize-reply", status: y });
  }

  #resize(width: number, height: number): void {
    const { screen } = this.#desktop;
    if (width === screen.width && height === screen.height) return;
    screen.resize(width, height);
    this.#resized = true;
    this.#emit({ type: "resize", width, height });
  }

  *#name(): Parse<string> {
    const queue = this.#queue;
    if (queue.available < 4) yield 4;
    const length = queue.u32();
    if (length > MAX_TEXT) throw violation("a desktop's name has at most 1048576 bytes", length);
    if (queue.available < length) yield length;
    return queue.view(length).toString("utf8");
  }
}

/** Keeps the list short where a server sends thousands of rectangles: the last one grows to hold the rest. */
function addRect(rects: Rect[], rect: Rect): void {
  if (rects.length < 1024) {
    rects.push(rect);
    return;
  }
  const last = rects[rects.length - 1]!;
  const [x, y] = [Math.min(last.x, rect.x), Math.min(last.y, rect.y)];
  const width = Math.max(last.x + last.width, rect.x + rect.width) - x;
  const height = Math.max(last.y + last.height, rect.y + rect.height) - y;
  rects[rects.length - 1] = { x, y, width, height };
}
