import assert from "node:assert/strict";
import { test } from "vitest";
import { rfbCapability } from "./rfb_capability.ts";

test("rfbCapability() takes port 5900 and the display's number where the url names none", () => {
  const url = (text: string, display?: number): string => rfbCapability({ url: text, display }).url;
  assert.equal(url("127.0.0.1"), "rfb://127.0.0.1:5900");
  assert.equal(url("rfb://host", 3), "rfb://host:5903");
  assert.equal(url("host:5999", 3), "rfb://host:5999");
  assert.equal(url("[::1]", 1), "rfb://[::1]:5901");
});

test("rfbCapability() says what the published Python package says", () => {
  assert.deepEqual(rfbCapability({ url: "rfb://h" }), {
    name: "screen",
    protocol: "rfb/3.8",
    url: "rfb://h:5900",
    params: { display: 0 },
  });
  assert.deepEqual(rfbCapability({ name: "screen-1", url: "h", display: 1, password: "secret" }).params, {
    display: 1,
    password: "secret",
  });
});

test("rfbCapability() refuses a password that servers would cut in silence, and does not repeat it", () => {
  assert.doesNotThrow(() => rfbCapability({ url: "h", password: "12345678" }));
  assert.throws(
    () => rfbCapability({ url: "h", password: "hunter2hunter2" }),
    (error) => error instanceof RangeError && !error.message.includes("hunter2"),
  );
  assert.throws(() => rfbCapability({ url: "h", display: -1 }), RangeError);
});
