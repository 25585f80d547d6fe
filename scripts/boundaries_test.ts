import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { ROWS } from "./boundaries.ts";
import { UNFINISHED } from "./unfinished.mjs";

const root = path.resolve(import.meta.dirname, "..");
const folders = ["packages", "apps"].flatMap((parent) =>
  readdirSync(path.join(root, parent))
    .filter((name) => !UNFINISHED.includes(name))
    .map((name) => path.join(root, parent, name)),
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
  return (
    file.endsWith("_test.ts") || path.basename(file).startsWith("_testing") || file.includes("/testdata/")
  );
}

/** Module specifiers of all imports and exports of a file, as the compiler sees them. */
function imports(file: string): string[] {
  return ts.preProcessFile(readFileSync(file, "utf8")).importedFiles.map(({ fileName }) => fileName);
}

test.each(folders)("%s imports only what its row allows and its manifest declares", (folder) => {
  const name = path.basename(folder);
  const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
  const forTests = { ...declared, ...manifest.devDependencies };
  const rootManifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  expect(rowOf(name), `${name} has a row in boundaries.ts`).toBeGreaterThanOrEqual(0);

  const wrong = sources(folder).flatMap((file) => {
    const allowed = isTest(file)
      ? { ...forTests, ...rootManifest.devDependencies, [manifest.name]: "" }
      : declared;
    return imports(file).flatMap((specifier) => {
      const why = complaint(specifier, file, folder, allowed);
      return why === undefined ? [] : [`${path.relative(root, file)} imports ${specifier}: ${why}`];
    });
  });
  expect(wrong).toEqual([]);
});

/** What is wrong with an import, if anything is. */
function complaint(
  specifier: string,
  file: string,
  folder: string,
  allowed: Record<string, string>,
): string | undefined {
  if (specifier.startsWith("node:")) return undefined;
  if (specifier.startsWith("/") && isTest(file)) return undefined;
  if (specifier.startsWith(".")) {
    const target = path.resolve(path.dirname(file), specifier);
    return target.startsWith(`${folder}/`) ? undefined : "it leaves the package";
  }
  const [scope, rest] = specifier.split("/");
  if (!((specifier.startsWith("@") ? `${scope!}/${rest!}` : scope!) in allowed)) return "it is not declared";
  const upwards = scope === "@envport" && rowOf(rest!) >= rowOf(path.basename(folder));
  return upwards && !isTest(file) ? "it is not in a row below" : undefined;
}

test("each declared dependency is imported somewhere", () => {
  const unused = folders.flatMap((folder) => {
    const { dependencies = {} } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    const used = sources(folder)
      .filter((file) => !isTest(file))
      .flatMap(imports);
    return Object.keys(dependencies)
      .filter(
        (name) =>
          !name.startsWith("@types/") &&
          !used.some((specifier) => specifier === name || specifier.startsWith(`${name}/`)),
      )
      .map((name) => `${path.basename(folder)}: ${name}`);
  });
  expect(unused).toEqual([]);
});
