import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { usage } from "./_failure.ts";

/** A module, and which of its exports is meant. */
export interface ModuleRef {
  /** Absolute. */
  readonly file: string;
  /** As it was written, for messages. */
  readonly shown: string;
  readonly exportName: string | undefined;
}

const EXTENSIONS = ["ts", "mts", "js", "mjs"];

/**
 * Reads `file`, `file:name`, or a folder that has a file of the usual name.
 *
 * @param text What was written.
 * @param usual The name of the file in a folder, without its extension: `"env"`.
 * @throws {Failure} `usage` If there is no such file.
 */
export function parseModuleRef(text: string, usual: string): ModuleRef {
  const [, before, name] = /^(.+):([\p{L}_$][\p{L}\p{N}_$]*)$/u.exec(text) ?? [];
  const isPlain = before === undefined || existsSync(text);
  const shown = isPlain ? text : before;
  const found = path.resolve(shown);
  const file = isFolder(found) ? inFolder(found, shown, usual) : found;
  if (!existsSync(file)) {
    throw usage(
      `Cannot use ${JSON.stringify(shown)} as there is no such file: current folder is ${process.cwd()}`,
    );
  }
  return { file, shown: path.relative(process.cwd(), file) || file, exportName: isPlain ? undefined : name };
}

function isFolder(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function inFolder(folder: string, shown: string, usual: string): string {
  const names = EXTENSIONS.map((extension) => `${usual}.${extension}`);
  const name = names.find((candidate) => existsSync(path.join(folder, candidate)));
  if (name !== undefined) return path.join(folder, name);
  throw usage(
    `Cannot use folder ${JSON.stringify(shown)} as it has no ${names.slice(0, -1).join(", ")} or ${names.at(-1)!}: name the file, or make one with envport init`,
  );
}
