import { countOf, dtypeOf, fromHalf, MAX_DIMENSIONS, parseDType } from "./_dtype.ts";

/**
 * numpy's `dtype.str` of what may cross the wire: booleans, integers and floats; `<` is little-endian, `>` big-endian.
 */
export type DType =
  "|b1" | "|i1" | "|u1" | `${"<" | ">"}${"i2" | "i4" | "i8" | "u2" | "u4" | "u8" | "f2" | "f4" | "f8"}`;

/** The elements of an array, in this machine's byte order. */
export type TypedData =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/**
 * An array of numpy, as a plain value: its type, its shape, and its elements in C order (the last index runs fastest).
 *
 * Of a decoded frame, `data` is a view on the frame where it can be: who changes it changes what others see, and who keeps
 * a small part of a large frame keeps all of it; `structuredClone(array.data)` makes a copy. Booleans are bytes, of which
 * 0 is false; half-precision floats are their raw bits, and {@linkcode NdArray.toArray} has their values.
 *
 * @typeParam T The typed array of the elements.
 *
 * @example
 * ```ts
 * import { NdArray } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * const image = new NdArray(new Uint8Array(2 * 2 * 3), [2, 2, 3]);
 * assert.equal(image.dtype, "|u1");
 * assert.deepEqual(image.row(1).shape, [2, 3]);
 * ```
 */
export class NdArray<T extends TypedData = TypedData> {
  /** The type of an element, and its byte order on the wire. */
  readonly dtype: DType;
  /** The length of each dimension; empty for a single number. */
  readonly shape: readonly number[];
  /** The elements. */
  readonly data: T;

  /**
   * @param data The elements; they are not copied.
   * @param shape The length of each dimension, at most 32. Default: one dimension.
   * @param dtype Needed for booleans (`"|b1"`), half-precision floats (`"<f2"`), and to write big-endian.
   * @throws {TypeError} If the dtype does not fit the typed array.
   * @throws {RangeError} If the shape does not fit the number of elements.
   */
  constructor(data: T, shape: readonly number[] = [data.length], dtype?: DType) {
    const found = dtype ?? dtypeOf(data);
    const { array } = parseDType(found!);
    if (!(data instanceof array)) {
      throw new TypeError(
        `Cannot make array of dtype ${found!} as its elements must be a ${array.name}: current value is ${Object.prototype.toString.call(data)}`,
      );
    }
    if (countOf(shape) !== data.length) {
      throw new RangeError(
        `Cannot make array as its shape must have at most ${String(MAX_DIMENSIONS)} dimensions and ${String(data.length)} elements: current value is [${shape.join(", ")}]`,
      );
    }
    this.dtype = found!;
    this.shape = shape;
    this.data = data;
  }

  /**
   * One element of the first dimension; a view.
   *
   * @param index From 0.
   * @throws {RangeError} If there is no such element.
   */
  row(index: number): NdArray<T> {
    const [rows = 0, ...shape] = this.shape;
    if (!Number.isInteger(index) || index < 0 || index >= rows) {
      throw new RangeError(
        `Cannot take row as it must be 0 to ${String(rows - 1)} of shape [${this.shape.join(", ")}]: current value is ${String(index)}`,
      );
    }
    const size = this.data.length / rows;
    return new NdArray(this.data.subarray(index * size, (index + 1) * size) as T, shape, this.dtype);
  }

  /** The elements as plain values: bigints of 64-bit integers, booleans of booleans, numbers of all others. */
  toArray(): (number | bigint | boolean)[] {
    const { kind } = parseDType(this.dtype);
    const data: Iterable<number | bigint> = this.data;
    if (kind === "b1") return Array.from(data, (value) => value !== 0);
    if (kind === "f2") return Array.from(data, (bits) => fromHalf(Number(bits)));
    return Array.from(data);
  }
}
