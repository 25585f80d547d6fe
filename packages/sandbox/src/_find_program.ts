import { accessSync, constants, realpathSync } from "node:fs";

/** The real path of a program of the host, or undefined. */
export function findProgram(name: string, path: string = process.env.PATH ?? ""): string | undefined {
  for (const folder of [...path.split(":"), "/usr/local/bin", "/usr/bin", "/bin"]) {
    if (!folder.startsWith("/")) continue;
    try {
      accessSync(`${folder}/${name}`, constants.X_OK);
      return realpathSync(`${folder}/${name}`);
    } catch {
      // Not here.
    }
  }
  return undefined;
}
