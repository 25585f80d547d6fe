import assert from "node:assert/strict";
import { test } from "vitest";
import { isJsonObject, own } from "./json.ts";

test("isJsonObject() tells objects from everything else that JSON has", () => {
  assert.deepEqual(
    ["{}", "[]", "null", "1", '"x"', "true"].map((text) => isJsonObject(JSON.parse(text))),
    [true, false, false, false, false, false],
  );
});

test("FRAME-10: own() never gives what an object inherits", () => {
  assert.deepEqual(
    ["toString", "constructor", "__proto__", "hasOwnProperty"].map((key) => own({}, key)),
    [undefined, undefined, undefined, undefined],
  );
  assert.equal(own(JSON.parse('{"__proto__":1}'), "__proto__"), 1);
  assert.equal(own({ name: null }, "name"), null);
});
