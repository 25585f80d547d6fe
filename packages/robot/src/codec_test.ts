import { decode as referenceDecode, encode as referenceEncode } from "@msgpack/msgpack";
import { EnvportError } from "@envport/wire";
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import { key, tree } from "./_testing_trees.ts";
import { decode } from "./decode.ts";
import type { FrameValue } from "./encode.ts";
import { encode } from "./encode.ts";
import type { DType } from "./nd_array.ts";
import { NdArray } from "./nd_array.ts";
import { NumpyScalar } from "./numpy_scalar.ts";

test("a random tree comes back as it was, at every alignment", () => {
  fc.assert(
    fc.property(tree, (value) => {
      const bytes = encode(value as FrameValue);
      for (let offset = 0; offset < 8; offset++) {
        const memory = new Uint8Array(bytes.length + offset);
        memory.set(bytes, offset);
        const again = decode(memory.subarray(offset), { exact: true });
        assert.deepEqual(encode(again), bytes);
        assert.deepEqual(again, value);
      }
    }),
    { numRuns: 300 },
  );
});

test("another implementation of msgpack reads what encode() writes, and decode() what it writes", () => {
  const simple = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        fc.constant(null),
        fc.boolean(),
        fc.integer(),
        fc.double({ noNaN: true }).map((value) => value || 0),
        fc.string({ unit: "grapheme" }),
        fc.uint8Array(),
      ),
      fc.array(tie("tree"), { maxLength: 6 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 6 }),
    ),
  })).tree;
  fc.assert(
    fc.property(simple, (value) => {
      const theirs = (bytes: Uint8Array): unknown => referenceDecode(bytes);
      assert.deepEqual(theirs(encode(value as FrameValue)), referenceDecode(referenceEncode(value)));
      assert.deepEqual(decode(referenceEncode(value)), referenceDecode(referenceEncode(value)));
    }),
    { numRuns: 300 },
  );
});

test("random bytes are a value or the named error, never anything else", () => {
  const seed = encode({
    a: [1, new NdArray(new Float32Array(4), [2, 2])],
    b: "x",
    c: new NumpyScalar(1, "|u1"),
  });
  const mutated = fc
    .array(fc.tuple(fc.nat(seed.length - 1), fc.nat(255)), { maxLength: 4 })
    .map((changes) => {
      const bytes = seed.slice();
      for (const [at, value] of changes) bytes[at] = value;
      return bytes;
    });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), mutated), (bytes) => {
      try {
        decode(bytes);
      } catch (error) {
        assert.ok(error instanceof EnvportError && error.code === "invalid-value", String(error));
      }
    }),
    { numRuns: 5_000 },
  );
});

test("a large array is a view on its frame where it is aligned, a small one is a copy", () => {
  const image = new NdArray(new Uint8Array(5_000), [5_000]);
  const state = new NdArray(new Float64Array(1_000));
  for (let offset = 0; offset < 8; offset++) {
    const bytes = encode({ image, few: new NdArray(new Uint8Array(4_096)), state });
    const memory = new Uint8Array(bytes.length + offset);
    memory.set(bytes, offset);
    const frame = decode(memory.subarray(offset)) as Record<string, NdArray>;
    assert.equal(frame["image"]!.data.buffer, memory.buffer);
    assert.equal(frame["few"]!.data.buffer.byteLength, 4_096);
    const aligned = frame["state"]!.data.buffer === memory.buffer;
    assert.equal(aligned || frame["state"]!.data.buffer.byteLength === 8_000, true);
  }
});

test("Buffers do not leak through: elements and bytes are plain typed arrays", () => {
  const frame = decode(
    Buffer.from(encode({ bytes: new Uint8Array(9_000), array: new NdArray(new Uint8Array(9_000)) })),
  );
  const { bytes, array: decoded } = frame as { bytes: Uint8Array; array: NdArray };
  assert.equal(Object.getPrototypeOf(bytes), Uint8Array.prototype);
  assert.equal(Object.getPrototypeOf(decoded.data), Uint8Array.prototype);
});

test("an array of the package msgpack-numpy is told from one of openpi's", () => {
  const theirs = Buffer.from(
    "84c4026e64c3c40474797065a33c6634c4047368617065 9101c40464617461c40400000000".replace(" ", ""),
    "hex",
  );
  assert.throws(
    () => decode(theirs),
    /as openpi's msgpack_numpy writes it: current value is one of the package msgpack-numpy$/,
  );
});

test("depth and the number of values have limits", () => {
  const deep = (depth: number): FrameValue => (depth === 0 ? 1 : [deep(depth - 1)]);
  assert.deepEqual(decode(encode(deep(64))), deep(64));
  assert.throws(() => encode(deep(65)), RangeError);
  assert.throws(() => decode(encode(deep(3)), { maxDepth: 2 }), /nested deeper than 2/);
  const many = new Array<number>(100_000).fill(1);
  assert.throws(() => decode(encode(many)), /at most 100000 values/);
  assert.throws(() => decode(encode([1, 2, 3]), { maxValues: 3 }), /at most 3 values/);
  assert.deepEqual(decode(encode([1, 2, 3]), { maxValues: 4 }), [1, 2, 3]);
});

test("encode() refuses what Python refuses, and names the path", () => {
  const refuses = (value: unknown, error: typeof TypeError | typeof RangeError, message: RegExp): void => {
    assert.throws(
      () => encode(value as FrameValue),
      (thrown) => thrown instanceof error && message.test(thrown.message),
    );
  };
  refuses({ a: [2n ** 64n] }, RangeError, /^Cannot encode \$\.a\[0\] as an integer must fit in 64 bits/);
  refuses(-(2n ** 63n) - 1n, RangeError, /64 bits/);
  refuses({ set: new Set([1]) }, TypeError, /\$\.set as it must be .*type Set$/);
  refuses("\ud800", TypeError, /well-formed Unicode: current value is "\\ud800"/);
  refuses({ f: () => 1 }, TypeError, /type function$/);
  refuses([undefined], TypeError, /\$\[0\].*type undefined$/);
  refuses(new Float32Array(2), TypeError, /type Float32Array$/);
  refuses(new Map([[1, 2]]), TypeError, /keys that are no strings/);
  refuses(new Date(0), TypeError, /type Date$/);
});

test("NdArray checks its type and its shape", () => {
  assert.equal(new NdArray(new Float64Array(6), [2, 3]).dtype, "<f8");
  assert.throws(() => new NdArray(new Float64Array(6), [2, 2]), RangeError);
  assert.throws(() => new NdArray(new Float64Array(6), [-2, -3]), RangeError);
  assert.throws(() => new NdArray(new Float64Array(6), [6], "<f4"), TypeError);
  assert.throws(() => new NdArray(new Float64Array(6), [6], "<c8" as DType), /must be one of/);
  assert.deepEqual(new NdArray(Uint8Array.of(0, 1, 2), [3], "|b1").toArray(), [false, true, true]);
  assert.deepEqual(new NdArray(Uint16Array.of(0x3e00, 0x7c00, 0x8001), [3], "<f2").toArray(), [
    1.5,
    Infinity,
    -(2 ** -24),
  ]);
  assert.deepEqual(new NdArray(Float32Array.of(1, 2, 3, 4), [2, 2]).row(1).toArray(), [3, 4]);
  assert.throws(() => new NdArray(Float32Array.of(1)).row(1), RangeError);
});

test("NumpyScalar checks its value", () => {
  assert.throws(() => new NumpyScalar(300, "|u1"), RangeError);
  assert.throws(() => new NumpyScalar(1.5, "<i4"), TypeError);
  assert.throws(() => new NumpyScalar(1, "|b1"), TypeError);
  assert.deepEqual(
    decode(encode(new NumpyScalar(-(2n ** 63n), "<i8"))),
    new NumpyScalar(-(2n ** 63n), "<i8"),
  );
});
