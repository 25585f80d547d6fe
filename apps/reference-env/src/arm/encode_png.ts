import { crc32, deflateSync } from "node:zlib";

/** Options of {@linkcode encodePng}. */
export interface EncodePngOptions {
  /** In pixels, of every frame. */
  width: number;
  height: number;
  /**
   * How long a frame is shown, in milliseconds; the last one stays for a second.
   *
   * @default 50
   */
  delay?: number | undefined;
}

/** Part of a frame. */
interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const COLOUR_RGB = 2;
const FILTER_SUB = 1;
const LAST_MS = 1_000;

/**
 * Encodes frames as PNG: one as a picture, several as an animation that begins again and again (PNG, third edition, W3C:
 * `acTL`, `fcTL`, `fdAT`). Who does not know animations shows the first frame. Of later frames only what changed is kept.
 *
 * @param frames Red, green and blue, row by row.
 * @param options Their size, and the pace.
 * @throws {RangeError} If there is no frame, or one has another size.
 */
export function encodePng(frames: readonly Uint8Array[], options: EncodePngOptions): Buffer {
  const { width, height, delay = 50 } = options;
  const odd = frames.find(({ length }) => length !== width * height * 3);
  if (frames.length === 0 || odd) {
    throw new RangeError(
      `Cannot encode PNG as there must be frames of ${String(width * height * 3)} bytes: current value is ${String(odd?.length ?? "none")}`,
    );
  }
  const whole = { x: 0, y: 0, width, height };
  const chunks = [SIGNATURE, chunk("IHDR", integers(width, height), Buffer.of(8, COLOUR_RGB, 0, 0, 0))];
  const isAnimation = frames.length > 1;
  if (isAnimation) chunks.push(chunk("acTL", integers(frames.length, 0)));
  let sequence = 0;
  frames.forEach((frame, index) => {
    const area = index === 0 ? whole : changed(frames[index - 1]!, frame, whole);
    if (isAnimation) {
      const shown = index === frames.length - 1 ? LAST_MS : delay;
      chunks.push(chunk("fcTL", integers(sequence++), frameControl(area, shown)));
    }
    const pixels = deflateSync(rows(frame, width, area), { level: 9 });
    chunks.push(index === 0 ? chunk("IDAT", pixels) : chunk("fdAT", integers(sequence++), pixels));
  });
  return Buffer.concat([...chunks, chunk("IEND")]);
}

/** Where a frame goes and how long it stays; it is put over what is there, which stays. */
function frameControl({ x, y, width, height }: Area, delay: number): Buffer {
  const time = Buffer.alloc(6);
  time.writeUInt16BE(delay, 0);
  time.writeUInt16BE(1_000, 2);
  return Buffer.concat([integers(width, height, x, y), time]);
}

/** The smallest area that holds every pixel that differs; one pixel if none does. */
function changed(before: Uint8Array, after: Uint8Array, { width, height }: Area): Area {
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let index = 0; index < after.length; index++) {
    if (before[index] === after[index]) continue;
    const pixel = Math.floor(index / 3);
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  if (right < 0) return { x: 0, y: 0, width: 1, height: 1 };
  return { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

/** The rows of an area, each as its filter and the differences from pixel to pixel. */
function rows(frame: Uint8Array, stride: number, { x, y, width, height }: Area): Buffer {
  const out = Buffer.alloc((width * 3 + 1) * height);
  for (let row = 0, to = 0; row < height; row++) {
    out[to++] = FILTER_SUB;
    const from = 3 * ((y + row) * stride + x);
    for (let index = 0; index < width * 3; index++) {
      out[to++] = frame[from + index]! - (index < 3 ? 0 : frame[from + index - 3]!);
    }
  }
  return out;
}

function integers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => bytes.writeUInt32BE(value, 4 * index));
  return bytes;
}

function chunk(type: string, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), ...parts]);
  return Buffer.concat([integers(body.length - 4), body, integers(crc32(body))]);
}
