import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";

/** A socket's path is at most 107 bytes; the folder's name and the socket's take up to 60 of them. */
const MAX_PARENT = 47;

/**
 * Makes a folder that only this user may enter, for sockets and keys, and removes those that processes left which were
 * killed. Its path leaves room for the name of a socket.
 *
 * Its name tells whose it is: the machine and process namespace, the process and when that began. A folder is removed
 * only if it is this user's, of this machine and namespace, and its process is gone; and nothing but sockets and files that
 * lie directly in it is removed with it.
 *
 * @example
 * ```ts
 * import { makePrivateFolder, removePrivateFolder } from "@envport/wire";
 * import assert from "node:assert/strict";
 * import { statSync } from "node:fs";
 *
 * const folder = makePrivateFolder();
 * assert.equal(statSync(folder).mode & 0o777, 0o700);
 * removePrivateFolder(folder);
 * ```
 */
export function makePrivateFolder(): string {
  const parent = tmpdir().length <= MAX_PARENT ? tmpdir() : "/tmp";
  const place = placeOf();
  if (place !== undefined) removeAbandoned(parent, place);
  const owner = place === undefined ? "" : `${place}-${String(process.pid)}-${String(startOf(process.pid))}-`;
  return mkdtempSync(join(parent, `envport-${owner}`));
}

/**
 * Removes a folder that {@linkcode makePrivateFolder} has made, with the sockets and files in it; does nothing if it is gone.
 *
 * @param folder Its path.
 *
 * @example
 * ```ts
 * import { makePrivateFolder, removePrivateFolder } from "@envport/wire";
 *
 * removePrivateFolder(makePrivateFolder());
 * ```
 */
export function removePrivateFolder(folder: string): void {
  for (const entry of attempt(() => readdirSync(folder, { withFileTypes: true })) ?? []) {
    if (!entry.isDirectory()) attempt(() => unlinkSync(join(folder, entry.name)));
  }
  attempt(() => rmdirSync(folder));
}

function removeAbandoned(parent: string, place: string): void {
  for (const name of attempt(() => readdirSync(parent)) ?? []) {
    const [, where, pid, start] = /^envport-([0-9a-f]{8})-(\d+)-(\d+)-\w{6}$/.exec(name) ?? [];
    if (where !== place || startOf(Number(pid)) === start) continue;
    const path = join(parent, name);
    attempt(() => {
      const found = lstatSync(path);
      if (found.isDirectory() && found.uid === process.getuid?.()) removePrivateFolder(path);
    });
  }
}

/** Where numbers of processes mean the same as here; undefined where there is no /proc to ask. */
function placeOf(): string | undefined {
  const namespace = attempt(() => readlinkSync("/proc/self/ns/pid"));
  if (namespace === undefined) return undefined;
  return createHash("sha256").update(`${hostname()} ${namespace}`).digest("hex").slice(0, 8);
}

/** When a process began, in ticks since the machine did; undefined if there is no such process. */
function startOf(pid: number): string | undefined {
  const stat = attempt(() => readFileSync(`/proc/${String(pid)}/stat`, "latin1"));
  // The 22nd field; the second is a name in parentheses, and may hold anything.
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
