import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ROWS } from "./boundaries.ts";

const root = path.resolve(import.meta.dirname, "..");
const folders = ["packages", "apps"].flatMap((parent) =>
  readdirSync(path.join(root, parent)).map((name) => path.join(root, parent, name)),
);

function rowOf(name: string): number {
  return ROWS.findIndex((row) => row.includes(name));
}

function sources(folder: string): string[] {
  const entries = readdirSync(path.join(folder, "src"), { recursive: true, withFileTypes: true });
  return entries
    .filter(({ name }) => name.endsWith(".ts"))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

function isTest(file: string): boolean {
  return file.endsWith("_test.ts") || path.basename(file).startsWith("_testing");
}

/** Module specifiers of all imports and exports of a file, doc comments left out. */
function imports(file: string): string[] {
  const code = readFileSync(file, "utf8").replaceAll(/^\s*(?:\/\*\*|\*).*$/gm, "");
  return [...code.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, specifier]) => specifier!);
}

test.each(folders)("%s imports only what its row allows and its manifest declares", (folder) => {
  const name = path.basename(folder);
  const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
  const forTests = { ...declared, ...manifest.devDependencies };
  const rootManifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  expect(rowOf(name), `${name} has a row in boundaries.ts`).toBeGreaterThanOrEqual(0);

  const wrong: string[] = [];
  for (const file of sources(folder)) {
    for (const specifier of imports(file)) {
      const where = `${path.relative(root, file)} imports ${specifier}`;
      if (specifier.startsWith("node:")) continue;
      if (specifier.startsWith(".")) {
        const target = path.resolve(path.dirname(file), specifier);
        if (!target.startsWith(`${folder}/`)) wrong.push(`${where}: it leaves the package`);
        continue;
      }
      const [scope, rest] = specifier.split("/");
      const dependency = specifier.startsWith("@") ? `${scope!}/${rest!}` : scope!;
      if (isTest(file)) {
        if (
          !(dependency in { ...forTests, ...rootManifest.devDependencies }) &&
          dependency !== manifest.name
        ) {
          wrong.push(`${where}: not declared`);
        }
        continue;
      }
      if (!(dependency in declared)) wrong.push(`${where}: not declared in dependencies`);
      if (scope === "@envport" && rowOf(rest!) >= rowOf(name)) wrong.push(`${where}: not a row below`);
    }
  }
  expect(wrong).toEqual([]);
});

test("each declared dependency is imported somewhere", () => {
  const unused = folders.flatMap((folder) => {
    const { dependencies = {} } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    const used = sources(folder)
      .filter((file) => !isTest(file))
      .flatMap(imports);
    return Object.keys(dependencies)
      .filter((name) => !used.some((specifier) => specifier === name || specifier.startsWith(`${name}/`)))
      .map((name) => `${path.basename(folder)}: ${name}`);
  });
  expect(unused).toEqual([]);
});
