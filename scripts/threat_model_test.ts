import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "./_examples.ts";

const linesOf = (file: string): string[] => readFileSync(path.join(root, file), "utf8").split("\n");

/** Rows of THREAT_MODEL.md: threat, invariant, mitigation, and `file: name of the test`. */
function defences(): { file: string; name: string }[] {
  const row = /^\| [^|]+ \| [^|]+ \| [^|]+ \| `([^`]+)`: ([^|]+) \|$/;
  return linesOf("THREAT_MODEL.md").flatMap((line) => {
    const [, file, name] = row.exec(line) ?? [];
    return file === undefined || name === undefined ? [] : [{ file, name: name.trim() }];
  });
}

/** Lines of THREAT_MODEL.md that are meant as such rows: those of tables whose last column is the test. */
function claims(): string[] {
  let isTable = false;
  return linesOf("THREAT_MODEL.md").filter((line) => {
    if (!line.startsWith("|")) isTable = false;
    if (line.startsWith("| threat |")) isTable = true;
    return isTable && !/^\| (?:threat|---)/.test(line);
  });
}

/** Columns of README.md's table of what works with what, behind the first. */
function combinations(): string[] {
  const lines = linesOf("README.md");
  const start = lines.findIndex((line) => line.startsWith("| what | our client and server |"));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith("|"));
  return lines.slice(start + 2, end).flatMap((line) => line.split("|").slice(2, -1));
}

test("every row of THREAT_MODEL.md names a test that exists", () => {
  const rows = defences();
  expect(rows.length).toBeGreaterThan(50);
  const missing = rows.filter(({ file, name }) => {
    const found = path.join(root, file);
    return !existsSync(found) || !readFileSync(found, "utf8").includes(name);
  });
  expect(missing).toEqual([]);
});

test("every threat of THREAT_MODEL.md has a test", () => {
  expect(claims()).toHaveLength(defences().length);
});

test("what README.md says works together names the test files that hold it", () => {
  const cells = combinations();
  expect(cells.length).toBeGreaterThan(20);
  for (const cell of cells.filter((text) => text.trim() !== "–")) {
    const files = [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, file]) => file!);
    expect(files, cell).not.toEqual([]);
    for (const file of files) {
      expect(file).toMatch(/_test\.ts$/);
      expect(existsSync(path.join(root, file)), file).toBe(true);
    }
  }
});
