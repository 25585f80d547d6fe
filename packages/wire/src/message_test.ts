import assert from "node:assert/strict";
import { test } from "vitest";
import { EnvportError } from "./envport_error.ts";
import { RequestError, readReply, readRequest } from "./message.ts";
import type { RequestMessage } from "./message.ts";
import { parseFrame } from "./parse_frame.ts";
import { ProtocolError } from "./protocol_error.ts";

const read = (text: string): RequestMessage => readRequest(parseFrame(Buffer.from(text)));

test.each<[name: string, text: string, id: string | number | undefined]>([
  ["a number", '{"id":1,"method":"hello"}', 1],
  ["a negative number", '{"id":-7,"method":"hello"}', -7],
  ["zero", '{"id":0,"method":"hello"}', 0],
  ["1.0", '{"id":1.0,"method":"hello"}', 1],
  ["the largest safe integer", '{"id":9007199254740991,"method":"hello"}', 9007199254740991],
  ["the smallest safe integer", '{"id":-9007199254740991,"method":"hello"}', -9007199254740991],
  ["a string", '{"id":"abc","method":"hello"}', "abc"],
  ["an empty string", '{"id":"","method":"hello"}', ""],
  ["a string of digits", '{"id":"1","method":"hello"}', "1"],
  ["an escaped lone surrogate", '{"id":"\\ud800","method":"hello"}', "\ud800"],
])("FRAME-9: an id that is %s is kept as it is", (_, text, id) => {
  assert.deepEqual(read(text), { id, method: "hello", params: {} });
});

test.each([
  ["absent", '{"method":"hello"}'],
  ["null", '{"id":null,"method":"hello"}'],
])("FRAME-8: an id that is %s makes a notification", (_, text) => {
  assert.equal(read(text).id, undefined);
});

test.each([
  '{"id":1,"method":"hello"}',
  '{"jsonrpc":"1.0","id":1,"method":"hello"}',
  '{"jsonrpc":2,"id":1,"method":"hello"}',
])("FRAME-9: the jsonrpc member does not matter: %s", (text) => {
  assert.equal(read(text).method, "hello");
});

test("FRAME-7: absent and null params are an empty object", () => {
  assert.deepEqual(read('{"id":1,"method":"a"}').params, {});
  assert.deepEqual(read('{"id":1,"method":"a","params":null}').params, {});
});

test("FRAME-7: of two members with one name the last counts", () => {
  assert.equal(read('{"id":1,"method":"a","method":"b"}').method, "b");
});

test.each<[name: string, text: string, id: unknown, code: number]>([
  ["a batch", '[{"id":1,"method":"hello"}]', null, -32600],
  ["an empty batch", "[]", null, -32600],
  ["a number", "5", null, -32600],
  ["a string", '"hello"', null, -32600],
  ["null", "null", null, -32600],
  ["true", "true", null, -32600],
  ["an id 2^53", '{"id":9007199254740992,"method":"hello"}', null, -32600],
  ["an id 2^53+1, which a double cannot hold", '{"id":9007199254740993,"method":"hello"}', null, -32600],
  ["an id of 400 digits", `{"id":${"9".repeat(400)},"method":"hello"}`, null, -32600],
  ["an id 1e400", '{"id":1e400,"method":"hello"}', null, -32600],
  ["an id 1.5", '{"id":1.5,"method":"hello"}', null, -32600],
  ["an id that is an object", '{"id":{"a":1},"method":"hello"}', null, -32600],
  ["an id that is an array", '{"id":[1],"method":"hello"}', null, -32600],
  ["an id that is true", '{"id":true,"method":"hello"}', null, -32600],
  ["no method", '{"id":1}', 1, -32600],
  ["no method and no id", "{}", null, -32600],
  ["a method that is a number", '{"id":"a","method":5}', "a", -32600],
  ["a method that is null", '{"id":1,"method":null}', 1, -32600],
  ["a method only in __proto__", '{"id":1,"__proto__":{"method":"hello"}}', 1, -32600],
  ["a reply", '{"id":1,"result":{}}', 1, -32600],
  ["params that are an array", '{"id":1,"method":"hello","params":[]}', 1, -32602],
  ["params that are a string", '{"id":1,"method":"hello","params":"x"}', 1, -32602],
  ["params that are false", '{"id":1,"method":"hello","params":false}', 1, -32602],
])("FRAME-7: %s is refused with the id and the code that the rule names", (_, text, id, code) => {
  assert.throws(
    () => read(text),
    (error) => error instanceof RequestError && error.code === code && error.id === id,
  );
});

test("FRAME-8: a notification with wrong params is not to be answered", () => {
  assert.throws(
    () => read('{"method":"hello","params":[]}'),
    (error) => error instanceof RequestError && error.id === undefined && error.code === -32602,
  );
});

test("FRAME-10: params keep keys such as __proto__ as their own", () => {
  const { params } = read('{"id":1,"method":"a","params":{"__proto__":{"session_id":"x"}}}');
  assert.deepEqual(Object.keys(params), ["__proto__"]);
  assert.equal(params["session_id"], undefined);
});

test("readReply() tells results from errors", () => {
  assert.deepEqual(readReply({ id: 1, result: {} }), { id: 1, result: {} });
  assert.deepEqual(readReply({ id: 1, result: null, error: null }), { id: 1, result: null });
  const { id, error } = readReply({ result: null, error: { code: -32601, message: "method not found: x" } });
  assert.equal(id, null);
  assert.ok(error instanceof ProtocolError && error.code === -32601);
});

test.each([[[]], [null], [5], [{}], [{ id: 1 }], [{ id: {}, result: {} }], [{ id: true, error: {} }]])(
  "readReply() refuses %j as no reply",
  (value) => {
    assert.throws(
      () => readReply(value),
      (error) =>
        error instanceof EnvportError && error.code === "protocol-violation" && error.message.length < 300,
    );
  },
);
