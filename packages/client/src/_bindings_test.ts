import type { Capability } from "@envport/wire";
import assert from "node:assert/strict";
import { test } from "vitest";
import { findBinding, findBindingOfFamily } from "./_bindings.ts";

const binding = (name: string, protocol: string): Capability => ({
  name,
  protocol,
  url: "tcp://127.0.0.1:1",
  params: {},
});
const bindings = [
  binding("shell", "ssh/2"),
  binding("tools", "mcp/2025-11-25"),
  binding("left", "rfb/3.8"),
  binding("right", "rfb/3.8"),
];

test.each([
  ["shell", "shell"],
  ["ssh/2", "shell"],
  ["ssh", "shell"],
  ["mcp", "tools"],
  ["right", "right"],
])("CLI-2: '%s' finds %s, by name, protocol or family", (ref, name) => {
  assert.equal(findBinding(bindings, ref).name, name);
});

test("CLI-2: a reference that several bindings match is an error that lists them", () => {
  for (const ref of ["rfb", "rfb/3.8"]) {
    assert.throws(() => findBinding(bindings, ref), {
      code: "ambiguous-binding",
      message: `Cannot choose binding '${ref}' as several match: left (rfb/3.8), right (rfb/3.8). Name one`,
    });
  }
});

test("CLI-2: a reference that nothing matches is an error that lists what there is", () => {
  const all = "shell (ssh/2), tools (mcp/2025-11-25), left (rfb/3.8), right (rfb/3.8)";
  for (const ref of ["cdp", "", "Shell", "ssh/1", "__proto__", "constructor"]) {
    assert.throws(() => findBinding(bindings, ref), {
      code: "unknown-binding",
      message: `Cannot find binding '${ref}': available are ${all}`,
    });
  }
  assert.throws(() => findBinding([], "ssh"), { message: "Cannot find binding 'ssh': available are none" });
});

test("CLI-2: a binding that is called like a protocol is found by that name", () => {
  const odd = [
    binding("ssh", "ssh/2"),
    binding("backup", "ssh/2"),
    binding("mcp", "ssh/2"),
    binding("tools", "mcp/1"),
  ];
  assert.equal(findBinding(odd, "ssh").name, "ssh");
  assert.equal(findBinding(odd, "mcp").name, "mcp");
});

test("CLI-2: two bindings of one name are never chosen between", () => {
  const twins = [binding("shell", "ssh/2"), binding("shell", "mcp/1")];
  assert.throws(() => findBinding(twins, "shell"), { code: "ambiguous-binding" });
});

test("findBindingOfFamily() looks at protocols only", () => {
  const odd = [binding("mcp", "ssh/2"), binding("tools", "mcp/1")];
  assert.equal(findBindingOfFamily(odd, "mcp").name, "tools");
  assert.throws(() => findBindingOfFamily(odd, "tools"), { code: "unknown-binding" });
});
