/** Random values of frames. */
import fc from "fast-check";
import { parseDType } from "./_dtype.ts";
import { Float64 } from "./float64.ts";
import type { DType } from "./nd_array.ts";
import { NdArray } from "./nd_array.ts";
import { NumpyScalar } from "./numpy_scalar.ts";

const DTYPES: DType[] = ["|b1", "|i1", "|u1"];
for (const order of ["<", ">"] as const) {
  for (const kind of ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8"] as const) {
    DTYPES.push(`${order}${kind}`);
  }
}

const array = fc
  .tuple(
    fc.constantFrom(...DTYPES),
    fc.array(fc.nat(4), { maxLength: 4 }),
    fc.uint8Array({ minLength: 2048, maxLength: 2048 }),
  )
  .map(([dtype, shape, bytes]) => {
    const { size, array: Elements } = parseDType(dtype);
    const count = shape.reduce((product, dimension) => product * dimension, 1);
    return new NdArray(new Elements(bytes.slice(0, count * size).buffer), shape, dtype);
  });
/** Keys of maps. */
export const key: fc.Arbitrary<string> = fc
  .string({ unit: "grapheme" })
  .filter((text) => text !== "__proto__");
const plain = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.double(),
  fc.maxSafeInteger(),
  fc.string({ unit: "grapheme" }),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
  fc.uint8Array(),
);
const leaf = fc.oneof(
  plain,
  array,
  fc.integer().map((value) => new Float64(value)),
  fc.float().map((value) => new NumpyScalar(value, "<f4")),
  fc.bigInt({ min: 2n ** 60n, max: 2n ** 63n - 1n }).map((value) => new NumpyScalar(value, "<i8")),
  fc.nat(255).map((value) => new NumpyScalar(value, "|u1")),
  fc.boolean().map((value) => new NumpyScalar(value, "|b1")),
);
/** Trees of everything that a frame can say, as `decode` gives them with `exact`. */
export const tree: fc.Arbitrary<unknown> = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("tree"), { maxLength: 6 }),
    fc.array(fc.tuple(key, tie("tree")), { maxLength: 6 }).map((entries) => new Map(entries)),
  ),
})).tree;
