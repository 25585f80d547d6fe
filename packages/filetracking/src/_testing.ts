/** Folders, files by byte names, and the git that patches and ignore rules are checked against. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder of its own; gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "filetracking-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Content, executable content, or a link. Names are byte strings. */
export type TestEntry =
  | string
  | Buffer
  | { readonly content: string | Buffer; readonly mode: number }
  | { readonly target: string };

/** Puts files into a folder, and makes the folders above them. */
export function write(root: string, files: Readonly<Record<string, TestEntry>>): void {
  for (const [name, entry] of Object.entries(files)) {
    const path = inFolder(root, name);
    mkdirSync(inFolder(root, name.slice(0, Math.max(0, name.lastIndexOf("/")))), { recursive: true });
    rmSync(path, { recursive: true, force: true });
    if (typeof entry === "string" || Buffer.isBuffer(entry)) writeFileSync(path, entry);
    else if ("target" in entry) symlinkSync(Buffer.from(entry.target, "latin1"), path);
    else {
      writeFileSync(path, entry.content);
      chmodSync(path, entry.mode);
    }
  }
}

/** A path as the file system functions take it, whatever bytes are in the name. */
export function inFolder(root: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, "latin1")]);
}

/** Every file below a folder by byte name: its git mode and its content. Git's own folder is left out. */
export function read(root: string, folder = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(inFolder(root, folder), { encoding: "latin1", withFileTypes: true })) {
    const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
    const path = inFolder(root, name);
    if (name === ".git") continue;
    if (entry.isDirectory()) Object.assign(found, read(root, name));
    else if (entry.isSymbolicLink()) found[name] = `link ${readlinkSync(path, "latin1")}`;
    else found[name] = `${lstatSync(path).mode & 0o100 ? "x" : "-"} ${readFileSync(path, "latin1")}`;
  }
  return found;
}

/**
 * Runs git. Configuration of the machine does not count.
 *
 * @throws {Error} If it is missing.
 */
export function git(
  cwd: string,
  words: readonly string[],
  input: string | Buffer = "",
): { status: number | null; out: string; err: string } {
  const { error, status, stdout, stderr } = spawnSync("git", words, {
    cwd,
    input,
    env: {
      PATH: process.env["PATH"],
      HOME: cwd,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CEILING_DIRECTORIES: tmpdir(),
    },
  });
  if (error) throw error;
  return { status, out: stdout.toString("latin1"), err: stderr.toString() };
}
