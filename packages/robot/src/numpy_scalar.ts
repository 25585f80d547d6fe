import { parseDType } from "./_dtype.ts";
import type { DType } from "./nd_array.ts";

/**
 * A single number of numpy with its type, such as a reward of type `float32`. Python writes its own numbers, and
 * `numpy.float64`, without one.
 *
 * @example
 * ```ts
 * import { NumpyScalar, decode, encode } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * const reward = new NumpyScalar(1.5, "<f4");
 * assert.deepEqual(decode(encode({ reward })), { reward });
 * ```
 */
export class NumpyScalar {
  /** A boolean, a number, or a bigint for what a number does not hold exactly. */
  readonly value: number | bigint | boolean;
  /** The type. */
  readonly dtype: DType;

  /**
   * @param value The number.
   * @param dtype Its type.
   * @throws {TypeError} If the dtype is unknown, or the value is not of its kind.
   * @throws {RangeError} If an integer does not fit.
   */
  constructor(value: number | bigint | boolean, dtype: DType) {
    const problem = scalarProblem(value, dtype);
    if (problem?.startsWith("it fits")) throw new RangeError(message(problem, value, dtype));
    if (problem !== undefined) throw new TypeError(message(problem, value, dtype));
    this.value = value;
    this.dtype = dtype;
  }
}

function message(rule: string, value: unknown, dtype: string): string {
  return `Cannot make scalar of dtype ${dtype} as ${rule}: current value is ${String(value)}`;
}

/** Why a value is none of a type; undefined if it is one. */
function scalarProblem(value: unknown, dtype: DType): string | undefined {
  const { kind, size } = parseDType(dtype);
  if (kind === "b1") return typeof value === "boolean" ? undefined : "it must be a boolean";
  if (kind.startsWith("f")) return typeof value === "number" ? undefined : "it must be a number";
  const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
  if (!isWhole) return "it must be a safe integer or a bigint";
  const whole = BigInt(value as number | bigint);
  const wrapped = kind.startsWith("u") ? BigInt.asUintN(size * 8, whole) : BigInt.asIntN(size * 8, whole);
  return wrapped === whole ? undefined : `it fits in ${String(size)} bytes only if it is smaller`;
}
