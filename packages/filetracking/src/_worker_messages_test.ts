import fc from "fast-check";
import type { JsonObject } from "@envport/wire";
import assert from "node:assert/strict";
import { test } from "vitest";
import { addPage, toPages } from "./_worker_messages.ts";

const item = fc.record({ path: fc.string(), size: fc.nat() });
const items = fc.array(item, { maxLength: 20 });
const result = fc.oneof(
  fc.record({ files: items, files_scanned: fc.nat() }),
  fc.record({
    diff: fc.record({ patches: items, truncated: fc.constant(true) }),
    capture: fc.record({ files: items }),
  }),
  fc.record({ advanced: fc.boolean() }),
);

function rejoined(value: JsonObject): JsonObject | undefined {
  let joined: JsonObject | undefined;
  for (const page of toPages(value)) joined = addPage(joined, structuredClone(page));
  return joined;
}

test("the pages of a result make the same result again", () => {
  fc.assert(
    fc.property(result, (value) => assert.deepEqual(rejoined(value as JsonObject), structuredClone(value))),
  );
});

test("no page is larger than it may be, but for a single item that is", () => {
  const patches = [
    ...Array.from({ length: 1200 }, (_, index) => ({ path: String(index), patch: "" })),
    ...Array.from({ length: 10 }, () => ({ path: "l", patch: "x".repeat(300_000) })),
    { path: "xl", patch: "x".repeat(2_000_000) },
  ];
  const pages = [...toPages({ patches })];
  assert.deepEqual(rejoined({ patches }), { patches });
  for (const { items: page } of pages) {
    assert.ok(page.length <= 500);
    assert.ok(JSON.stringify(page).length < 900_000 || page.length === 1 || page.length === 2);
  }
  assert.ok(pages.length >= 3 + 5 + 1);
});
