import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { finishedPackages, root } from "./_examples.ts";

const packages = finishedPackages();

test.each(packages)("%s exports each public file as a subpath of its own, and no other", (name) => {
  const folder = path.join(root, "packages", name);
  const { exports } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const files = readdirSync(path.join(folder, "src")).filter(
    (file) => file.endsWith(".ts") && !file.endsWith("_test.ts") && !file.startsWith("_"),
  );
  const expected: Record<string, unknown> = { "./package.json": "./package.json" };
  for (const file of files) {
    const base = file.slice(0, -".ts".length);
    expected[base === "mod" ? "." : `./${base.replaceAll("_", "-")}`] = {
      "@envport/source": `./src/${base}.ts`,
      types: `./dist/${base}.d.ts`,
      default: `./dist/${base}.js`,
    };
  }
  expect(exports).toEqual(expected);
});

test.each(packages)("%s names its exports one by one in mod.ts and says what it is", (name) => {
  const source = readFileSync(path.join(root, "packages", name, "src/mod.ts"), "utf8");
  expect(source).toMatch(/^\/\*\*\n[^]*?@module\n \*\/\n/);
  expect(source).not.toMatch(/export \*/);
});

test.each(packages)("%s has a manifest that npm can publish", (name) => {
  const manifest = JSON.parse(readFileSync(path.join(root, "packages", name, "package.json"), "utf8"));
  expect(manifest).toMatchObject({
    name: `@envport/${name}`,
    license: "MIT",
    type: "module",
    sideEffects: false,
  });
  expect(manifest.files).toContain("!src/**/*_test.ts");
  expect(readFileSync(path.join(root, "packages", name, "README.md"), "utf8")).toContain(
    `# @envport/${name}`,
  );
});
