import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { examplesIn, packageExamples, root } from "./_examples.ts";

const folder = path.join(root, ".examples");
const examples = [...packageExamples(), ...examplesIn(path.join(root, "README.md"))];

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const files = examples.map(({ code, where }, index) => {
  const file = path.join(folder, `example_${String(index)}.ts`);
  writeFileSync(file, `// ${where}\n${code}\nexport {};\n`);
  return file;
});
writeFileSync(
  path.join(folder, "tsconfig.json"),
  JSON.stringify({
    extends: "../tsconfig.json",
    compilerOptions: {
      paths: { "@envport/*": ["../packages/*/src/mod.ts"], zod: ["../node_modules/zod"] },
      noUnusedLocals: false,
    },
    include: ["*.ts"],
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
