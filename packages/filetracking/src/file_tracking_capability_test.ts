import assert from "node:assert/strict";
import { test } from "vitest";
import { fileTrackingCapability } from "./file_tracking_capability.ts";

test("fileTrackingCapability() makes scheme and port explicit", () => {
  const url = (text: string): string => fileTrackingCapability({ url: text, root: "/w" }).url;
  assert.equal(url("host"), "tcp://host:9095");
  assert.equal(url("host:4000"), "tcp://host:4000");
  assert.equal(url("[::1]:4000"), "tcp://[::1]:4000");
  assert.equal(url("tcp://127.0.0.1:4000"), "tcp://127.0.0.1:4000");
});

test("fileTrackingCapability() is the binding that clients look for", () => {
  assert.deepEqual(fileTrackingCapability({ url: "127.0.0.1:4000", root: "/workspace" }), {
    name: "filetracking",
    protocol: "filetracking/1",
    url: "tcp://127.0.0.1:4000",
    params: { root: "/workspace", setup_diff: true },
  });
  assert.equal(fileTrackingCapability({ name: "files", url: "h:1", root: "/" }).name, "files");
});

test("fileTrackingCapability() refuses a URL that it cannot read", () => {
  assert.throws(() => fileTrackingCapability({ url: "no host", root: "/" }), TypeError);
});
