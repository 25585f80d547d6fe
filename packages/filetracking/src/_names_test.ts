import fc from "fast-check";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "vitest";
import { fromText, quoteName, toFsPath, toText } from "./_names.ts";

const byteString = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .map((bytes) => Buffer.from(bytes).toString("latin1"));

test("toText() loses no byte of a name, whatever bytes they are", () => {
  fc.assert(fc.property(byteString, (name) => fromText(toText(name)) === name));
});

test("toText() reads UTF-8 and stands in for other bytes one by one", () => {
  const text = (bytes: string): string => toText(Buffer.from(bytes, "hex").toString("latin1"));
  assert.equal(text("c3a9"), "é");
  assert.equal(text("f09f9880"), "😀");
  assert.equal(text("61ff62"), "a\udcffb");
  assert.equal(text("c3"), "\udcc3");
  assert.equal(text("e282"), "\udce2\udc82");
  assert.equal(text("eda080"), "\udced\udca0\udc80");
  assert.equal(text("c080"), "\udcc0\udc80");
});

test("toText() agrees with surrogateescape", () => {
  const names = fc.sample(byteString, { numRuns: 300, seed: 4 });
  const script =
    "import sys,json\nprint(json.dumps([bytes.fromhex(h).decode('utf-8','surrogateescape') for h in sys.stdin.read().split()]))";
  const hex = names.map((name) => Buffer.from(name, "latin1").toString("hex")).join("\n");
  const { stdout, error } = spawnSync("python3", ["-c", script], { input: hex, encoding: "utf8" });
  if (error) throw error;
  assert.deepEqual(names.map(toText), JSON.parse(stdout));
});

test("toFsPath() gives the same bytes to the system", () => {
  fc.assert(
    fc.property(byteString, (name) => Buffer.from(toFsPath(name) as string).toString("latin1") === name),
  );
});

test("quoteName() leaves readable names alone and quotes the others as git does", () => {
  assert.equal(quoteName("a/src/x y.ts"), "a/src/x y.ts");
  assert.equal(quoteName(Buffer.from("a/é").toString("latin1")), "a/é");
  assert.equal(quoteName('a/"q"\\'), '"a/\\"q\\"\\\\"');
  assert.equal(quoteName("a/x\n+++ b/y"), '"a/x\\n+++ b/y"');
  assert.equal(quoteName("a/\x01\x7f\xff"), '"a/\\001\\177\\377"');
  assert.equal(quoteName("a/end "), '"a/end "');
});

test("quoteName() never lets a name end a line", () => {
  fc.assert(fc.property(byteString, (name) => !/[\n\r]/.test(quoteName(name))));
});
