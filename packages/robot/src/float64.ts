/**
 * A number that is written as a float although it is whole, as Python writes `1.0`. Inside arrays the type says so.
 *
 * @example
 * ```ts
 * import { Float64, encode } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual([encode(1).length, encode(new Float64(1)).length], [1, 9]);
 * ```
 */
export class Float64 {
  /** The number. */
  readonly value: number;

  /** @param value The number. */
  constructor(value: number) {
    this.value = value;
  }
}
