import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { examplesIn, packageExamples, pageExamples, root } from "./_examples.ts";

const FOLDER = ".examples";
const folder = path.join(root, FOLDER);
/** Pages show several packages and libraries at once, which this app depends on. */
const PAGES_HOME = "apps/reference-env";
const examples = [...packageExamples(), ...examplesIn(path.join(root, "README.md")), ...pageExamples()];

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
/** Each stands in the package that shows it, where what it imports is found. */
const files = examples.map(({ code, where }, index) => {
  const [, home = where.startsWith("README.md") ? "" : PAGES_HOME] = /^(packages\/[^/]+)\//.exec(where) ?? [];
  mkdirSync(path.join(root, home, FOLDER), { recursive: true });
  const file = path.join(root, home, FOLDER, `example_${String(index)}.ts`);
  writeFileSync(file, `// ${where}\n${code}\nexport {};\n`);
  return file;
});
afterAll(() => {
  for (const file of files) rmSync(path.dirname(file), { recursive: true, force: true });
});
writeFileSync(
  path.join(folder, "tsconfig.json"),
  JSON.stringify({
    extends: "../tsconfig.json",
    compilerOptions: {
      paths: { "@envport/*": ["../packages/*/src/mod.ts"], zod: ["../node_modules/zod"] },
      noUnusedLocals: false,
    },
    include: ["*.ts", `../packages/*/${FOLDER}/*.ts`, `../${PAGES_HOME}/${FOLDER}/*.ts`],
  }),
);

test("every example type-checks", { timeout: 120_000 }, () => {
  const tsc = path.join(root, "node_modules/.bin/tsc");
  const { stdout } = spawnSync(tsc, ["-p", folder, "--pretty", "false"], { encoding: "utf8" });
  const named = stdout.replaceAll(/example_(\d+)\.ts/g, (_, index) => examples[Number(index)]!.where);
  expect(named).toBe("");
});

const runnable = examples
  .map((example, index) => ({ ...example, file: files[index]! }))
  .filter(({ info }) => info.length === 0);

test.each(runnable)("the example at $where runs", { timeout: 60_000 }, async ({ file }) => {
  await import(/* @vite-ignore */ file);
});
