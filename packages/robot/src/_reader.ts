import { countOf, findDType, malformed, MAX_DIMENSIONS, swapBytes } from "./_dtype.ts";
import { MAX_DEPTH } from "./_write_frame.ts";
import type { DecodeOptions } from "./decode.ts";
import type { FrameValue } from "./encode.ts";

import { Float64 } from "./float64.ts";
import type { DType } from "./nd_array.ts";
import { NdArray } from "./nd_array.ts";
import { NumpyScalar } from "./numpy_scalar.ts";

/** What is not larger is copied out of its chunk. */
export const COPY_BYTES = 4096;
const MAX_VALUES = 100_000;
/** Short texts without accents, which nearly all keys are, are faster without the text decoder. */
const FEW_BYTES = 24;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The keys that numpy's values are told by; they are binaries, where all other keys are text. */
const NUMPY_KEYS = ["__ndarray__", "__npgeneric__", "data", "dtype", "shape"] as const;
type NumpyKey = (typeof NUMPY_KEYS)[number];
type NumpyParts = Partial<Record<NumpyKey, FrameValue>>;

/** Reads one value after another. */
export class Reader {
  readonly #bytes: Buffer;
  readonly #exact: boolean;
  /** Whether a float that is whole is told from an integer. */
  #floats: boolean;
  readonly #maxDepth: number;
  readonly #maxValues: number;
  #at = 0;
  #values = 0;

  constructor(
    bytes: Uint8Array,
    { maxDepth = MAX_DEPTH, maxValues = MAX_VALUES, exact = false }: DecodeOptions,
  ) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#maxDepth = Math.min(maxDepth, MAX_DEPTH);
    this.#maxValues = maxValues;
    this.#exact = exact;
    this.#floats = exact;
  }

  /** Bytes that have not been read. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** The next value, by its first byte. */
  read(depth: number): FrameValue {
    if (++this.#values > this.#maxValues) {
      throw malformed(`it may hold at most ${String(this.#maxValues)} values`, "more");
    }
    const type = this.#count(1);
    if (type < 0x80) return type;
    if (type < 0x90) return this.#map(type - 0x80, depth);
    if (type < 0xa0) return this.#list(type - 0x90, depth);
    if (type < 0xc0) return this.#text(type - 0xa0);
    if (type >= 0xe0) return type - 0x100;
    return type < 0xca ? this.#readSimple(type) : this.#readLong(type, depth);
  }

  /** c0 to c9: nil, booleans, binaries. */
  #readSimple(type: number): FrameValue {
    if (type === 0xc0) return null;
    if (type === 0xc2 || type === 0xc3) return type === 0xc3;
    if (type >= 0xc4 && type <= 0xc6) return this.#keep(this.#binary(type));
    throw this.#unknown(type);
  }

  /** ca to df: floats, integers, long texts, lists and maps. */
  #readLong(type: number, depth: number): FrameValue {
    switch (type) {
      case 0xca:
        return this.#float(this.#bytes.readFloatBE(this.#take(4)));
      case 0xcb:
        return this.#float(this.#bytes.readDoubleBE(this.#take(8)));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#count(1 << (type - 0xcc));
      case 0xcf:
        return narrow(this.#bytes.readBigUInt64BE(this.#take(8)));
      case 0xd0:
        return this.#bytes.readInt8(this.#take(1));
      case 0xd1:
        return this.#bytes.readInt16BE(this.#take(2));
      case 0xd2:
        return this.#bytes.readInt32BE(this.#take(4));
      case 0xd3:
        return narrow(this.#bytes.readBigInt64BE(this.#take(8)));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#count(1 << (type - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.#list(this.#count(type === 0xdc ? 2 : 4), depth);
      case 0xde:
      case 0xdf:
        return this.#map(this.#count(type === 0xde ? 2 : 4), depth);
      default:
        throw this.#unknown(type);
    }
  }

  /** Steps over some bytes; where they begin. */
  #take(size: number): number {
    if (size > this.left) {
      throw malformed(
        `it is truncated at byte ${String(this.#at)}`,
        `${String(this.left)} of ${String(size)} bytes`,
      );
    }
    const at = this.#at;
    this.#at += size;
    return at;
  }

  /** An unsigned integer. */
  #count(size: number): number {
    const at = this.#take(size);
    if (size === 1) return this.#bytes[at]!;
    return size === 2 ? this.#bytes.readUInt16BE(at) : this.#bytes.readUInt32BE(at);
  }

  #float(value: number): FrameValue {
    const whole = Number.isSafeInteger(value) && !Object.is(value, -0);
    return this.#floats && whole ? new Float64(value) : value;
  }

  #text(size: number): string {
    const start = this.#take(size);
    if (size <= FEW_BYTES) {
      let text = "";
      let at = start;
      for (; at < start + size && this.#bytes[at]! < 0x80; at++)
        text += String.fromCharCode(this.#bytes[at]!);
      if (at === start + size) return text;
    }
    try {
      return utf8.decode(this.#bytes.subarray(start, start + size));
    } catch {
      throw malformed("text must be valid UTF-8", `another one at byte ${String(start)}`);
    }
  }

  /** A view on a binary's bytes, without the type of the buffer that they came in. */
  #binary(type: number): Uint8Array {
    const size = this.#count(1 << (type - 0xc4));
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + this.#take(size), size);
  }

  #keep(view: Uint8Array): Uint8Array {
    return view.length > COPY_BYTES ? view : view.slice();
  }

  #list(count: number, depth: number): FrameValue[] {
    this.#enter(count, depth);
    const items: FrameValue[] = [];
    for (let i = 0; i < count; i++) items.push(this.read(depth + 1));
    return items;
  }

  /** Every item needs a byte at least: a head that promises too many is known before anything is allocated. */
  #enter(bytes: number, depth: number): void {
    if (depth >= this.#maxDepth) {
      throw malformed(`it must not be nested deeper than ${String(this.#maxDepth)}`, "deeper");
    }
    if (bytes > this.left) {
      throw malformed(
        `it is truncated at byte ${String(this.#at)}`,
        `${String(this.left)} bytes of ${String(bytes)} at least`,
      );
    }
  }

  #map(count: number, depth: number): FrameValue {
    this.#enter(count * 2, depth);
    if (count > 0 && this.#bytes[this.#at] === 0xc4) return this.#numpy(count, depth);
    const map = new Map<string, FrameValue>();
    for (let i = 0; i < count; i++) {
      const key = this.#key();
      map.set(key, this.read(depth + 1));
    }
    return this.#exact ? map : Object.fromEntries(map);
  }

  #key(): string {
    const at = this.#at;
    const type = this.#count(1);
    let key: string | undefined;
    if (type >= 0xa0 && type <= 0xbf) key = this.#text(type - 0xa0);
    else if (type >= 0xd9 && type <= 0xdb) key = this.#text(this.#count(1 << (type - 0xd9)));
    if (key === undefined) {
      throw malformed("a map key must be text", `type 0x${type.toString(16)} at byte ${String(at)}`);
    }
    if (key === "__proto__")
      throw malformed("a map key must not be '__proto__'", `that at byte ${String(at)}`);
    return key;
  }

  /** A map whose first key is a binary: an array, a scalar, or nothing that may be here. */
  #numpy(count: number, depth: number): NdArray | NumpyScalar {
    const parts: NumpyParts = {};
    this.#floats = true;
    for (let i = 0; i < count; i++) {
      const at = this.#at;
      const type = this.#count(1);
      const name = type === 0xc4 ? Buffer.from(this.#binary(type)).toString("latin1") : undefined;
      const key = NUMPY_KEYS.find((candidate) => candidate === name);
      if (!key) throw unknownKey(name, at);
      const isData = key === "data" && this.#bytes[this.#at]! >= 0xc4 && this.#bytes[this.#at]! <= 0xc6;
      parts[key] = isData ? this.#binary(this.#count(1)) : this.read(depth + 1);
    }
    this.#floats = this.#exact;
    if ("__ndarray__" in parts) return this.#array(parts);
    if ("__npgeneric__" in parts) return scalar(parts);
    throw malformed("a binary map key is for numpy's arrays and scalars only", Object.keys(parts).join(" "));
  }

  #array(parts: NumpyParts): NdArray {
    for (const key of ["data", "dtype", "shape"] as const) {
      if (!(key in parts)) throw malformed(`an array must have ${key}`, "none");
    }
    const { data, dtype, shape } = parts;
    const parsed = findDType(dtype);
    if (!parsed)
      throw malformed("the dtype must be one of booleans, integers or floats", JSON.stringify(dtype));
    if (!(data instanceof Uint8Array)) throw malformed("the data of an array must be binary", typeOf(data));
    if (!Array.isArray(shape)) throw malformed("the shape of an array must be a list", typeOf(shape));
    const count = countOf(shape);
    if (count === undefined) {
      throw malformed(
        `a shape must be at most ${String(MAX_DIMENSIONS)} counts of elements that there can be`,
        `[${shape.map(typeOf).join(", ")}]`,
      );
    }
    const { size, swapped, array } = parsed;
    if (count * size !== data.length) {
      throw malformed(
        `the data of shape [${shape.join(", ")}] of ${parsed.dtype} must have ${String(count * size)} bytes`,
        String(data.length),
      );
    }
    let from = swapped ? swapBytes(data, size) : data;
    if (from === data && (data.length <= COPY_BYTES || data.byteOffset % size !== 0)) from = data.slice();
    return new NdArray(
      new array(from.buffer as ArrayBuffer, from.byteOffset, count),
      shape as number[],
      dtype as DType,
    );
  }

  #unknown(type: number): Error {
    const at = `0x${type.toString(16)} at byte ${String(this.#at - 1)}`;
    return malformed("this type must not be used (extensions and timestamps neither)", at);
  }
}

function unknownKey(name: string | undefined, at: number): Error {
  if (name === "nd") {
    return malformed(
      "an array must be as openpi's msgpack_numpy writes it",
      "one of the package msgpack-numpy",
    );
  }
  const what = name === undefined ? "a text key" : JSON.stringify(name);
  return malformed(
    "a binary map key must be one of numpy's arrays and scalars",
    `${what} at byte ${String(at)}`,
  );
}

function scalar({ data, dtype }: NumpyParts): NumpyScalar {
  if (data === undefined || dtype === undefined)
    throw malformed("a scalar must have data and dtype", "one of them");
  const parsed = findDType(dtype);
  if (!parsed)
    throw malformed("the dtype must be one of booleans, integers or floats", JSON.stringify(dtype));
  const isFloat = parsed.kind.startsWith("f");
  const value = data instanceof Float64 && isFloat ? data.value : data;
  try {
    return new NumpyScalar(value as number, parsed.dtype);
  } catch (error) {
    throw malformed(`a scalar must hold a number of its dtype ${parsed.dtype}`, typeOf(data), error);
  }
}

/** Integers of 64 bits are numbers where a number holds them exactly. */
function narrow(value: bigint): number | bigint {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
}

/** A value in a few words, for an error. */
function typeOf(value: FrameValue | undefined): string {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (value instanceof Float64) return value.value.toFixed(1);
  return value === null || value === undefined ? "nil" : Object.prototype.toString.call(value).slice(8, -1);
}
