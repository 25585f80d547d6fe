import { isJsonObject } from "@envport/wire";
import { usage } from "../_failure.ts";
import type { ManifestParts } from "./project_files.ts";

/** What `npm init` writes where there is no test yet. */
const NO_TEST = /^echo .*no test specified/;

/**
 * Adds to a package.json what is missing, and leaves alone what is there.
 *
 * @param text The package.json, or undefined for a new one.
 * @param name The package's name, if it is new.
 * @param parts What it must have.
 * @throws {Failure} `usage` If it is not JSON.
 */
export function mergeManifest(text: string | undefined, name: string, parts: ManifestParts): string {
  const manifest = text === undefined ? { name, version: "0.1.0", private: true } : parse(text);
  const scripts = { ...parts.scripts, ...objectOf(manifest["scripts"]) };
  if (NO_TEST.test(String(scripts["test"]))) scripts["test"] = parts.scripts["test"];
  const [dependencies, devDependencies] = [
    objectOf(manifest["dependencies"]),
    objectOf(manifest["devDependencies"]),
  ];
  const isMissing = ([key]: [string, unknown]): boolean =>
    !(key in dependencies) && !(key in devDependencies);
  const missing = (wanted: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(wanted).filter(isMissing));
  const merged = {
    ...manifest,
    type: parts.type,
    scripts,
    dependencies: sorted({ ...dependencies, ...missing(parts.dependencies) }),
    devDependencies: sorted({ ...devDependencies, ...missing(parts.devDependencies) }),
  };
  return `${JSON.stringify(merged, undefined, 2)}\n`;
}

function parse(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (isJsonObject(value)) return value;
  throw usage("Cannot add to package.json as it is no JSON object: repair it first");
}

function objectOf(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {};
}

function sorted(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
