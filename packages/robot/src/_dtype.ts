import { EnvportError } from "@envport/wire";
import type { DType, TypedData } from "./nd_array.ts";

/** The kind and size of an element, by the letters and digits of numpy's `dtype.str`. */
export type Kind = "b1" | "i1" | "u1" | "i2" | "u2" | "i4" | "u4" | "i8" | "u8" | "f2" | "f4" | "f8";

/** Makes the typed array of the elements. */
export type ElementArray =
  | Int8ArrayConstructor
  | Uint8ArrayConstructor
  | Int16ArrayConstructor
  | Uint16ArrayConstructor
  | Int32ArrayConstructor
  | Uint32ArrayConstructor
  | BigInt64ArrayConstructor
  | BigUint64ArrayConstructor
  | Float32ArrayConstructor
  | Float64ArrayConstructor;

/** What is read and written; nothing else is. */
const ARRAYS: Readonly<Record<Kind, ElementArray>> = {
  b1: Uint8Array,
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  i8: BigInt64Array,
  u8: BigUint64Array,
  f2: Uint16Array,
  f4: Float32Array,
  f8: Float64Array,
};

/** A dtype that has been understood. */
export interface ParsedDType {
  readonly dtype: DType;
  readonly kind: Kind;
  /** Bytes of an element. */
  readonly size: number;
  /** Whether the bytes of an element stand the other way round than this machine has them. */
  readonly swapped: boolean;
  /** The typed array of the elements. */
  readonly array: ElementArray;
}

/** What numpy itself allows. */
export const MAX_DIMENSIONS = 32;

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const DTYPES: ReadonlyMap<string, ParsedDType> = new Map(
  (Object.keys(ARRAYS) as Kind[]).flatMap((kind) => {
    const size = Number(kind[1]);
    return (size === 1 ? ["|"] : ["<", ">"]).map((order): [string, ParsedDType] => {
      const dtype = `${order}${kind}` as DType;
      const swapped = size > 1 && (order === "<") !== LITTLE_ENDIAN;
      return [dtype, { dtype, kind, size, swapped, array: ARRAYS[kind] }];
    });
  }),
);

/** Looks a dtype up; undefined if it is none that may cross the wire. */
export function findDType(dtype: unknown): ParsedDType | undefined {
  return typeof dtype === "string" ? DTYPES.get(dtype) : undefined;
}

/**
 * Looks a dtype up.
 *
 * @throws {TypeError} If it is none that may cross the wire.
 */
export function parseDType(dtype: DType): ParsedDType {
  const parsed = findDType(dtype);
  if (parsed) return parsed;
  throw new TypeError(
    `Cannot use dtype as it must be one of ${[...DTYPES.keys()].join(" ")}: current value is ${JSON.stringify(dtype)}`,
  );
}

const BY_ARRAY: ReadonlyMap<unknown, DType> = new Map<unknown, DType>([
  ...[...DTYPES.values()]
    .filter(({ swapped, kind }) => !swapped && kind !== "b1" && kind !== "f2")
    .map(({ array, dtype }): [unknown, DType] => [array, dtype]),
]);

/** The dtype that a typed array has if nothing else is said; undefined for views that are no arrays of numbers. */
export function dtypeOf(data: TypedData): DType | undefined {
  return ArrayBuffer.isView(data) ? BY_ARRAY.get(data.constructor) : undefined;
}

/** How many elements a shape has; undefined if a dimension is no count, there are too many, or the product is not exact. */
export function countOf(shape: readonly unknown[]): number | undefined {
  if (shape.length > MAX_DIMENSIONS) return undefined;
  let count = 1;
  for (const dimension of shape) {
    if (!Number.isSafeInteger(dimension) || (dimension as number) < 0) return undefined;
    count *= dimension as number;
  }
  // Zero times too much is too much as well.
  return shape.every((dimension) => (dimension as number) <= 0xffffffff) && Number.isSafeInteger(count)
    ? count
    : undefined;
}

/** The same elements with their bytes the other way round. */
export function swapBytes(raw: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(raw.length);
  for (let start = 0; start < raw.length; start += size) {
    for (let i = 0; i < size; i++) out[start + i] = raw[start + size - 1 - i]!;
  }
  return out;
}

/** What a half-precision number is worth. */
export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The error of data that came from elsewhere. */
export function malformed(rule: string, value: string, cause?: unknown): EnvportError {
  const message = `Cannot decode frame as ${rule}: current value is ${value.slice(0, 100)}`;
  return new EnvportError("invalid-value", message, cause === undefined ? {} : { cause });
}
