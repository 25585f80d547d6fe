import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * What of the environment itself must not be seen by whoever works in its sandbox: the package of the program that runs,
 * and the folder it was started in if that is one. They matter where they lie below a mounted system directory, as
 * `/usr/src/app` does in most images.
 */
export function hiddenPaths(): string[] {
  const [, script] = process.argv;
  const found = [packageOf(join(process.cwd(), "package.json"))];
  if (script !== undefined && existsSync(script)) {
    const file = realpathSync(script);
    found.push(packageOf(file) ?? file);
  }
  return [...new Set(found.filter((path) => path !== undefined))];
}

/** The nearest folder above a file that has a package.json. */
function packageOf(file: string): string | undefined {
  const folder = dirname(file);
  if (existsSync(join(folder, "package.json"))) return folder;
  return dirname(folder) === folder ? undefined : packageOf(folder);
}
