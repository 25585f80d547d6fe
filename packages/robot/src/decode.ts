import { malformed } from "./_dtype.ts";
import { Reader } from "./_reader.ts";
import type { FrameValue } from "./encode.ts";

/** Options of {@linkcode decode}. */
export interface DecodeOptions {
  /**
   * How deep a frame may be nested, at most 64.
   *
   * @default {64}
   */
  readonly maxDepth?: number | undefined;
  /**
   * How many values a frame may hold, elements of arrays not counted.
   *
   * @default {100000}
   */
  readonly maxValues?: number | undefined;
  /**
   * For who passes a frame on: maps become `Map`, and floats that are whole `Float64`, so that `encode` makes the same
   * bytes again.
   *
   * @default {false}
   */
  readonly exact?: boolean | undefined;
}

/**
 * Decodes msgpack with numpy arrays, as openpi's `msgpack_numpy.packb` writes it. What comes from elsewhere is not
 * trusted: only booleans, integers and floats are read as arrays, their bytes must be as many as the shape says, keys must be
 * text, and nothing may be nested too deep or be left over.
 *
 * Arrays over 4 KiB are views on `bytes` where their alignment allows it, smaller ones are copies: a small view would keep
 * alive whatever large chunk it came in.
 *
 * @param bytes One whole frame.
 * @param options Limits.
 * @throws {EnvportError} `invalid-value` If it is malformed; the message names the rule and the byte.
 *
 * @example
 * ```ts
 * import { decode } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * const bytes = Buffer.from("81a3666f6f93010203", "hex");
 * assert.deepEqual(decode(bytes), { foo: [1, 2, 3] });
 * ```
 */
export function decode(bytes: Uint8Array, options: DecodeOptions = {}): FrameValue {
  const reader = new Reader(bytes, options);
  const value = reader.read(0);
  if (reader.left > 0) throw malformed("nothing may follow the value", `${String(reader.left)} bytes more`);
  return value;
}
