import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import { fromManifest, protocolFamily, toManifest } from "./capability.ts";

const name = fc.string({ minLength: 1 });

test("SESS-1: a capability survives the manifest, its JSON text included", () => {
  fc.assert(
    fc.property(name, name, name, fc.dictionary(fc.string(), fc.jsonValue()), (...members) => {
      const [own, protocol, url, params] = members;
      const text = JSON.stringify(toManifest({ name: own, protocol, url, params }));
      const read = fromManifest(JSON.parse(text));
      assert.deepEqual(JSON.stringify(toManifest(read)), text);
    }),
  );
});

test("TUN-1: toManifest() publishes four members and nothing else that the object carries", () => {
  const published = {
    name: "a",
    protocol: "tcp/1",
    url: "tcp://h:1",
    params: { x: 1 },
    dial: { path: "/run/x.sock" },
  };
  assert.deepEqual(toManifest(published), {
    name: "a",
    protocol: "tcp/1",
    url: "tcp://h:1",
    params: { x: 1 },
  });
  assert.notEqual(toManifest(published)["params"], published.params);
});

test("fromManifest() takes absent and null params for none, and drops unknown members", () => {
  for (const params of [{}, { params: null }]) {
    const data = { name: "a", protocol: "tcp/1", url: "tcp://h:1", extra: true, ...params };
    assert.deepEqual(fromManifest(data), { name: "a", protocol: "tcp/1", url: "tcp://h:1", params: {} });
  }
});

test.each([
  [undefined, "it must be an object"],
  [null, "it must be an object"],
  [[], "it must be an object"],
  ["shell", "it must be an object"],
  [{ protocol: "tcp/1", url: "tcp://h:1" }, "'name' must be a non-empty string"],
  [{ name: "", protocol: "tcp/1", url: "tcp://h:1" }, "'name' must be a non-empty string"],
  [{ name: "a", protocol: 2, url: "tcp://h:1" }, "'protocol' must be a non-empty string"],
  [{ name: "a", protocol: "tcp/1", url: null }, "'url' must be a non-empty string"],
  [{ name: "a", protocol: "tcp/1", url: "tcp://h:1", params: [] }, "'params' must be an object"],
  [Object.create({ name: "a", protocol: "tcp/1", url: "tcp://h:1" }), "'name' must be a non-empty string"],
])("fromManifest() refuses %j as %s", (data, rule) => {
  assert.throws(() => fromManifest(data), {
    name: "TypeError",
    message: new RegExp(`^Cannot read binding as ${rule}: `),
  });
});

test("FRAME-10: keys such as __proto__ in params are data", () => {
  const text =
    '{"name":"a","protocol":"tcp/1","url":"tcp://h:1","params":{"__proto__":{"polluted":1},"constructor":2}}';
  const { params } = fromManifest(JSON.parse(text));
  assert.deepEqual(Object.keys(params), ["__proto__", "constructor"]);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});

test("protocolFamily() is the part before the slash", () => {
  assert.deepEqual(["ssh/2", "mcp/2025-11-25", "tcp", "a/b/c"].map(protocolFamily), [
    "ssh",
    "mcp",
    "tcp",
    "a",
  ]);
});
