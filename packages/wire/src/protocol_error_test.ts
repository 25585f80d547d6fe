import assert from "node:assert/strict";
import { test } from "vitest";
import { ErrorCode } from "./error_code.ts";
import { ProtocolError } from "./protocol_error.ts";

test("ERR-1: the codes are those of the contract", () => {
  assert.deepEqual(ErrorCode, {
    parseError: -32700,
    invalidRequest: -32600,
    methodNotFound: -32601,
    invalidParams: -32602,
    internalError: -32603,
    serverError: -32000,
    unauthorized: -32001,
  });
});

test("ERR-1: ProtocolError crosses the wire with code, message and typed data, and nothing else", () => {
  const error = new ProtocolError(-32600, "no task in progress", { type: "no-task" });
  assert.deepEqual(error.toObject(), {
    code: -32600,
    message: "no task in progress",
    data: { type: "no-task" },
  });
  assert.deepEqual(new ProtocolError(-32601, "method not found: x").toObject(), {
    code: -32601,
    message: "method not found: x",
  });
  const copy = ProtocolError.fromObject(JSON.parse(JSON.stringify(error.toObject())));
  assert.deepEqual([copy.code, copy.message, copy.data], [error.code, error.message, error.data]);
});

test.each([
  [{ code: -32000, message: "x", data: "text" }, -32000, "x"],
  [{ code: -32000, message: "x", data: { detail: 1 } }, -32000, "x"],
  [{ message: "only a message" }, 0, "only a message"],
  [{ code: "-1" }, 0, 'error without a message: {"code":"-1"}'],
  ["boom", 0, 'error without a message: "boom"'],
  [
    { code: 1, note: "x".repeat(1_000) },
    1,
    `error without a message: ${JSON.stringify({ code: 1, note: "x".repeat(1_000) }).slice(0, 200)}`,
  ],
])("ERR-1: ProtocolError.fromObject() bears with %j", (value, code, message) => {
  const error = ProtocolError.fromObject(value);
  assert.deepEqual([error.code, error.message, error.data], [code, message, undefined]);
});
