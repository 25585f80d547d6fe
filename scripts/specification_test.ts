import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");

/** Rows of SPECIFICATION.md: promise, number, and `file: name of the test`. */
function promises(): { promise: string; file: string; name: string }[] {
  const rows = readFileSync(path.join(root, "SPECIFICATION.md"), "utf8").matchAll(
    /^\| ([^|]+) \| [^|]+ \| `([^`]+)`: ([^|]+) \|$/gm,
  );
  return [...rows].map(([, promise, file, name]) => ({ promise: promise!, file: file!, name: name!.trim() }));
}

test("every promise of SPECIFICATION.md names a test that exists", () => {
  const rows = promises();
  expect(rows.length).toBeGreaterThan(5);
  const missing = rows.filter(({ file, name }) => {
    const text = readFileSync(path.join(root, file), "utf8");
    return !text.includes(name);
  });
  expect(missing).toEqual([]);
});

test("every row of SPECIFICATION.md has a test", () => {
  const lines = readFileSync(path.join(root, "SPECIFICATION.md"), "utf8").split("\n");
  const rows = lines.filter((line) => line.startsWith("| ") && !/^\| (?:promise|---)/.test(line));
  expect(rows.length).toBe(promises().length);
});

test("the folder has what the two commands need", () => {
  expect(readdirSync(root)).toEqual(
    expect.arrayContaining([
      "package.json",
      "pnpm-workspace.yaml",
      "pnpm-lock.yaml",
      "turbo.json",
      "tsconfig.base.json",
      "vitest.workspace.ts",
      "LICENSE",
    ]),
  );
});
