import { EnvportError } from "@envport/wire";
import assert from "node:assert/strict";
import { test } from "vitest";
import { build, packedOf, sha256, vectors } from "./_testing_vectors.ts";
import { decode } from "./decode.ts";
import type { FrameValue } from "./encode.ts";
import { encode } from "./encode.ts";
import { NdArray } from "./nd_array.ts";
import { NumpyScalar } from "./numpy_scalar.ts";

const roundTrips = vectors.filter(({ kind }) => kind === "roundtrip");
/** Python takes them, and they are no numbers: refused by name. */
const REFUSED = ["map_proto_key", "map_bytes_keys", "arr_longdouble", "arr_datetime", "arr_str", "arr_bytes"];
const accepted = roundTrips.filter(({ name }) => !REFUSED.includes(name));
const refused = roundTrips.filter(({ name }) => REFUSED.includes(name));

test("there are 147 golden vectors, of which 84 are round trips", () => {
  assert.deepEqual([vectors.length, roundTrips.length, accepted.length], [147, 84, 78]);
});

test.each(accepted)("encode() makes the bytes of $name", (vector) => {
  const bytes = encode(build(vector.decoded!));
  assert.equal(bytes.length, vector.packed!.length);
  assert.equal(sha256(bytes), vector.packed!.sha256);
});

test.each(accepted)(
  "decode() reads $name at every alignment, and encode() makes the same bytes again",
  (vector) => {
    const packed = packedOf(vector);
    assert.equal(sha256(packed), vector.packed!.sha256);
    const expected = build(vector.decoded!);
    for (let offset = 0; offset < 8; offset++) {
      const memory = new Uint8Array(packed.length + offset + 3).fill(0xc1);
      memory.set(packed, offset);
      const value = decode(memory.subarray(offset, offset + packed.length), { exact: true });
      assert.deepEqual(value, expected);
      assert.equal(sha256(encode(value)), vector.packed!.sha256);
    }
  },
);

/** What the error says of each vector that is refused, on whose ground. */
const RULES: Record<string, RegExp> = {
  map_proto_key: /map key must not be '__proto__'/,
  map_bytes_keys: /binary map key must be one of numpy's.*"k" at byte 1/,
  arr_longdouble: /dtype must be one of.*"<f16"/,
  arr_datetime: /dtype must be one of.*"<M8\[s\]"/,
  arr_str: /dtype must be one of.*"<U4"/,
  arr_bytes: /dtype must be one of.*"\|S3"/,
  dec_empty: /truncated at byte 0/,
  dec_truncated: /truncated at byte/,
  dec_trailing: /nothing may follow the value/,
  dec_reserved_c1: /this type must not be used.*0xc1/,
  dec_bad_utf8: /valid UTF-8/,
  dec_int_key: /map key must be text.*0x1 /,
  dec_float_key: /map key must be text.*0xcb/,
  dec_nil_key: /map key must be text.*0xc0/,
  dec_array_key: /map key must be text.*0x90/,
  dec_proto_bin_key: /binary map key must be one of numpy's.*__proto__/,
  dec_short_data: /must have 8 bytes: current value is 7$/,
  dec_long_data: /must have 8 bytes: current value is 9$/,
  dec_shape_minus1: /a shape must be .*\[-1\]/,
  dec_shape_minus2: /a shape must be .*\[-2\]/,
  dec_shape_float: /a shape must be .*\[2\.0\]/,
  dec_shape_int: /shape of an array must be a list: current value is 2/,
  dec_shape_nil: /shape of an array must be a list: current value is nil/,
  dec_shape_huge: /a shape must be |must have .* bytes/,
  dec_shape_zero_huge: /a shape must be /,
  dec_shape_33: /a shape must be at most 32/,
  dec_no_data: /must have data/,
  dec_no_dtype: /must have dtype/,
  dec_no_shape: /must have shape/,
  dec_data_str: /data of an array must be binary: current value is String/,
  dec_data_nil: /data of an array must be binary: current value is nil/,
  dec_dtype_unknown: /dtype must be .*"<q9"/,
  dec_dtype_nil: /dtype must be .*null/,
  dec_dtype_bin: /dtype must be /,
  dec_dtype_name: /dtype must be .*"float32"/,
  dec_dtype_eq: /dtype must be .*"=f4"/,
  dec_dtype_bare: /dtype must be .*"f4"/,
  dec_dtype_comma: /dtype must be /,
  dec_dtype_subarray: /dtype must be /,
  dec_dtype_void: /dtype must be /,
  dec_dtype_complex: /dtype must be .*c8/,
  dec_dtype_object: /dtype must be .*"\|O"/,
  dec_generic_range: /scalar must hold a number of its dtype \|u1: current value is 300/,
  dec_generic_nil: /scalar must hold a number .*nil/,
  dec_generic_str: /scalar must hold a number .*String/,
  dec_generic_unicode: /dtype must be .*"<U3"/,
  dec_ext: /this type must not be used.*0xd4/,
  dec_timestamp: /this type must not be used.*0xd6/,
  dec_deep_1024: /nested deeper than 64/,
  dec_deep_2000: /nested deeper than 64/,
  dec_array32_bomb: /truncated at byte 5/,
  dec_map32_bomb: /truncated at byte 5/,
  dec_bin32_bomb: /truncated at byte 5/,
};
/** What Python reads and we do too. */
const READ: Record<string, FrameValue> = {
  dec_dup_key: { a: 2 },
  dec_str_ndarray_keys: { __ndarray__: true, data: new Uint8Array(8), dtype: "<f4", shape: [2] },
  dec_ndarray_false: new NdArray(new Float32Array(2)),
  dec_not_a_map: new NdArray(new Float32Array(2)),
  dec_generic_be: new NumpyScalar(1.5, ">f4"),
};
const isDecode = ({ kind }: { kind: string }): boolean => kind.startsWith("decode");

test.each([...refused, ...vectors.filter(isDecode).filter(({ name }) => name in RULES)])(
  "decode() refuses $name by its rule",
  (vector) => {
    assert.throws(
      () => decode(packedOf(vector)),
      (error) => {
        assert.ok(error instanceof EnvportError);
        assert.equal(error.code, "invalid-value");
        assert.match(error.message, /^Cannot decode frame as /);
        assert.match(error.message, RULES[vector.name]!);
        return true;
      },
    );
  },
);

test.each(vectors.filter(isDecode).filter(({ name }) => !(name in RULES)))(
  "decode() reads $name as Python does",
  (vector) => {
    assert.ok(vector.kind === "decode", `${vector.name} has to be refused`);
    assert.deepEqual(decode(packedOf(vector)), READ[vector.name]);
  },
);
