import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import { MAX_NESTING, parseFrame } from "./parse_frame.ts";
import { ProtocolError } from "./protocol_error.ts";

const parseError = (why: string) => (error: unknown) =>
  error instanceof ProtocolError && error.code === -32700 && error.message === `parse error: ${why}`;

const nested = (depth: number, open = "[", close = "]"): string => open.repeat(depth) + close.repeat(depth);

test("FRAME-1: a carriage return before the newline is white space", () => {
  assert.deepEqual(parseFrame(Buffer.from('{"id":1}\r')), { id: 1 });
});

test("FRAME-1: line separators of Unicode stand inside a string as they are", () => {
  const text = "a\u2028b\u2029c\u0085d";
  assert.equal(parseFrame(Buffer.from(JSON.stringify(text))), text);
});

test.each([
  ["a byte that is no UTF-8", Buffer.from('{"method":"he\xffllo"}', "latin1")],
  ["a lone surrogate in UTF-8 (ED A0 80)", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ["an overlong encoding", Buffer.from([0x22, 0xc0, 0x80, 0x22])],
  ["a character that is cut short", Buffer.from([0x22, 0xe2, 0x82, 0x22])],
])("FRAME-6: %s is a parse error, not a replacement character", (_, line) => {
  assert.throws(() => parseFrame(line), parseError("not valid UTF-8"));
});

test.each([
  ["a byte-order mark", '\ufeff{"id":1}'],
  ["nothing", ""],
  ["half an object", '{"jsonrpc":"2.0"'],
  ["garbage behind an object", '{"id":1} x'],
  ["two objects", '{"id":1}{"id":2}'],
  ["a raw tab in a string", '"a\tb"'],
  ["a raw NUL in a string", '"a\u0000b"'],
  ["NaN", '{"id":NaN}'],
  ["Infinity", '{"id":Infinity}'],
  ["an HTTP request", "GET / HTTP/1.1\r"],
  ["a TLS ClientHello", "\u0016\u0003\u0001\u0002\u0000\u0001"],
  ["two lines that only a carriage return divides", '{"id":1}\r{"id":2}'],
])("FRAME-6: %s is a parse error", (_, text) => {
  assert.throws(() => parseFrame(Buffer.from(text)), parseError("not valid JSON"));
});

test.each([
  ["[", "]"],
  ['{"a":', "}"],
  ['[{"a":', "}]"],
])("FRAME-6: nesting of 512 passes and of 513 does not, with %s", (open, close) => {
  const step = open.length === 1 || !open.startsWith("[") ? 1 : 2;
  const build = (depth: number): string => {
    const times = Math.floor(depth / step);
    return (
      (depth % step ? "[" : "") + open.repeat(times) + "1" + close.repeat(times) + (depth % step ? "]" : "")
    );
  };
  assert.equal(MAX_NESTING, 512);
  assert.doesNotThrow(() => parseFrame(Buffer.from(build(512))));
  assert.throws(() => parseFrame(Buffer.from(build(513))), parseError("nested deeper than 512"));
});

test("FRAME-6: a million brackets are refused without being parsed", () => {
  assert.throws(() => parseFrame(Buffer.from("[".repeat(1_000_000))), parseError("nested deeper than 512"));
});

test("FRAME-6: brackets inside strings count for nothing, whatever is escaped before them", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("[", "]", "{", "}", '"', "\\", "\\\\", '\\"', "é", "x".repeat(70)), {
        maxLength: 30,
      }),
      fc.integer({ min: 500, max: 524 }),
      (pieces, depth) => {
        const text = JSON.stringify(pieces.join("") + "]".repeat(600) + "[".repeat(600));
        const line = Buffer.from(`[${text},{${text}:${nested(depth)}},${text}]`);
        if (depth + 2 <= 512) assert.ok(Array.isArray(parseFrame(line)));
        else assert.throws(() => parseFrame(line), parseError("nested deeper than 512"));
      },
    ),
  );
});

test("FRAME-6: a line that is no JSON never gives anything but a parse error", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc.json().map((text) => Buffer.from(text.slice(0, -1))),
      ),
      (line) => {
        try {
          assert.deepEqual(parseFrame(line), JSON.parse(Buffer.from(line).toString()));
        } catch (error) {
          assert.ok(error instanceof ProtocolError && error.code === -32700, String(error));
        }
      },
    ),
    { numRuns: 1_000 },
  );
});

test("parseFrame() gives what JSON.parse gives for every JSON text", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (text) => {
      assert.deepEqual(parseFrame(Buffer.from(text)), JSON.parse(text));
    }),
  );
});

test("FRAME-10: a key __proto__ in a frame is data and changes no prototype", () => {
  const value = parseFrame(
    Buffer.from('{"__proto__":{"x":1},"params":{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}}'),
  );
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(({} as { x?: unknown }).x, undefined);
});
