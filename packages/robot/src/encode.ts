import { writeFrame } from "./_write_frame.ts";
import type { Float64 } from "./float64.ts";
import type { NdArray } from "./nd_array.ts";
import type { NumpyScalar } from "./numpy_scalar.ts";

/** What a frame can say. Objects are plain ones; a `Map` keeps the order of keys that look like integers. */
export type FrameValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | NdArray
  | NumpyScalar
  | Float64
  | readonly FrameValue[]
  | ReadonlyMap<string, FrameValue>
  | { readonly [key: string]: FrameValue };

/**
 * Encodes a value as msgpack with numpy arrays, byte for byte as openpi's `msgpack_numpy.packb` does:
 *
 * ```text
 * array   {b"__ndarray__": true, b"data": bytes in C order, b"dtype": dtype.str, b"shape": [integers]}
 * scalar  {b"__npgeneric__": true, b"data": value, b"dtype": dtype.str}
 * ```
 *
 * Whole numbers are written as integers, all others as 64-bit floats; see {@linkcode Float64}.
 *
 * @param value What to say.
 * @returns The bytes, in memory of their own.
 * @throws {TypeError} If something in it cannot be said; the message names its path.
 * @throws {RangeError} If an integer needs more than 64 bits, or it is nested deeper than 64.
 *
 * @example
 * ```ts
 * import { NdArray, decode, encode } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * const frame = { actions: new NdArray(Float32Array.of(0.5, -1)) };
 * assert.deepEqual(decode(encode(frame)), frame);
 * ```
 */
export function encode(value: FrameValue): Uint8Array<ArrayBuffer> {
  let bytes: Uint8Array<ArrayBuffer>;
  writeFrame(value, (size) => (bytes = new Uint8Array(size)));
  return bytes!;
}
