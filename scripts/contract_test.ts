import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { UNFINISHED } from "./unfinished.mjs";

const root = path.resolve(import.meta.dirname, "..");

/** Tests that are not run hold nothing. */
const IGNORED = new RegExp(`node_modules|packages/(?:${UNFINISHED.join("|")})/`);

function testFiles(): string[] {
  return ["packages", "apps"].flatMap((parent) =>
    readdirSync(path.join(root, parent), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.name.endsWith("_test.ts") && !IGNORED.test(entry.parentPath))
      .map((entry) => path.join(entry.parentPath, entry.name)),
  );
}

/** The ids that the names of tests begin with: `test("SESS-5: …")`, `test("FRAME-1, FRAME-2: …")`. */
function citedIds(file: string): string[] {
  const names = readFileSync(file, "utf8").matchAll(
    /\b(?:test|it)(?:\.\w+(?:\([^)]*\))?)*\(\s*["'`]([^"'`]*)/g,
  );
  return [...names].flatMap(([, name]) => name!.match(/\b(?:CONN|FRAME|ERR|SESS|TASK|TUN|CLI)-\d+\b/g) ?? []);
}

const rules = [
  ...readFileSync(path.join(root, "docs/contract.md"), "utf8").matchAll(/^\| ([A-Z]+-\d+) \|/gm),
].map(([, id]) => id!);
const cited = new Set(testFiles().flatMap(citedIds));

test("every rule of the contract has a test that cites it", () => {
  expect(rules.length).toBeGreaterThan(50);
  expect(rules.filter((id) => !cited.has(id))).toEqual([]);
});

test("every rule that a test cites is in the contract", () => {
  expect([...cited].filter((id) => !rules.includes(id))).toEqual([]);
});
