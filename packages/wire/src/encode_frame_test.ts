import fc from "fast-check";
import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { test } from "vitest";
import { encodeFrame } from "./encode_frame.ts";
import { EnvportError } from "./envport_error.ts";
import { parseFrame } from "./parse_frame.ts";

const text = (...args: Parameters<typeof encodeFrame>): string => String(encodeFrame(...args));

test("FRAME-11: a frame is compact, its keys in the order jsonrpc, id, result or error, however they were given", () => {
  assert.equal(
    text({ result: { b: 1, a: [1, 2] }, id: 1 }),
    '{"jsonrpc":"2.0","id":1,"result":{"b":1,"a":[1,2]}}\n',
  );
  assert.equal(
    text({ error: { code: -32601, message: "method not found: x" }, id: "a" }),
    '{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"method not found: x"}}\n',
  );
  assert.equal(
    text({ params: {}, method: "hello", id: 3 }),
    '{"jsonrpc":"2.0","id":3,"method":"hello","params":{}}\n',
  );
});

test("FRAME-8: a notification has no id at all", () => {
  assert.equal(
    text({ method: "tasks.progress", params: {} }),
    '{"jsonrpc":"2.0","method":"tasks.progress","params":{}}\n',
  );
});

test("FRAME-9: an error without a readable id says null, and a result is never left out", () => {
  assert.equal(
    text({ id: null, error: { code: -32700, message: "x" } }),
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}\n',
  );
  assert.equal(text({ id: 1, result: undefined }), '{"jsonrpc":"2.0","id":1,"result":null}\n');
});

test("FRAME-1: one message is one line of valid text, and what is read is what was sent", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.maxSafeInteger()), fc.jsonValue(), (id, value) => {
      const line = encodeFrame({ id, result: { value } });
      assert.equal(line.indexOf(0x0a), line.length - 1);
      assert.ok(isUtf8(line));
      // JSON has one zero.
      const expected = JSON.parse(JSON.stringify({ jsonrpc: "2.0", id, result: { value } })) as unknown;
      assert.deepEqual(parseFrame(line.subarray(0, -1)), expected);
    }),
  );
});

test("FRAME-5: a frame of exactly the limit is encoded, one byte more is not, and the error names both sizes", () => {
  const size = text({ id: 1, result: { text: "éé" } }).length - 1 + 2;
  assert.equal(encodeFrame({ id: 1, result: { text: "éé" } }, size).length, size + 1);
  assert.throws(
    () => encodeFrame({ id: 1, result: { text: "éé" } }, size - 1),
    (error) =>
      error instanceof EnvportError &&
      error.code === "frame-too-large" &&
      error.message ===
        `Cannot send a reply of ${String(size)} bytes as the limit is ${String(size - 1)} bytes`,
  );
  assert.throws(
    () => encodeFrame({ id: 1, method: "tasks.start", params: {} }, 9),
    /^EnvportError: Cannot send a tasks\.start request/,
  );
});

test("FRAME-5: the limit is 16 MiB unless told otherwise", () => {
  assert.throws(() => encodeFrame({ id: 1, result: "x".repeat(16 * 1024 * 1024) }), {
    code: "frame-too-large",
  });
});

test.each<[path: string, result: unknown]>([
  ["result.score", { score: NaN }],
  ["result.score", { nothing: null, score: Infinity }],
  ["result.info.scores[2]", { info: { scores: [1, 2, -Infinity] } }],
  ["result[0].a.b", [{ a: { b: NaN } }]],
  ["result", NaN],
])(
  "FRAME-10: a number that JSON cannot say is never sent, and the error names its path: %s",
  (path, result) => {
    assert.throws(() => encodeFrame({ id: 1, result }), {
      name: "TypeError",
      message: new RegExp(
        `^Cannot send ${path.replaceAll(/[[\].]/g, "\\$&")} as JSON has only finite numbers: current value is -?[NI]`,
      ),
    });
  },
);

test("FRAME-10: nulls, and an object that stands in two places, are no error", () => {
  const shared = { a: null };
  assert.equal(
    text({ id: 1, result: { x: shared, y: [shared, "null"] } }).includes('"y":[{"a":null},"null"]'),
    true,
  );
});

test("FRAME-6: a message that no reader would take, as it is nested too deep, is not sent", () => {
  let result: unknown = 1;
  for (let i = 0; i < 511; i++) result = [result];
  assert.doesNotThrow(() => encodeFrame({ id: 1, result }));
  assert.throws(
    () => encodeFrame({ id: 1, result: [result] }),
    /^RangeError: Cannot send a reply as it is nested deeper than 512$/,
  );
  for (let i = 0; i < 20_000; i++) result = [result];
  assert.throws(() => encodeFrame({ id: 1, result }), RangeError);
});

test("encodeFrame() throws a TypeError for a cycle and for a bigint", () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  assert.throws(() => encodeFrame({ id: 1, result: cycle }), TypeError);
  assert.throws(() => encodeFrame({ id: 1, result: { n: 1n } }), TypeError);
});
