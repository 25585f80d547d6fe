import { createHash } from "node:crypto";
import { lstatSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, rmdirSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";

/** What a workspace puts into its folder. */
export const FOLDER_FILES = { socket: "ssh.sock", clientKey: "client_key" } as const;
/** A socket's path is at most 107 bytes; the folder's name and the socket's take up to 60 of them. */
const MAX_PARENT = 47;

/**
 * Makes a folder that only this user may enter, and removes those that processes left which were killed.
 *
 * Its name tells whose it is: the machine and process namespace, the process and when that began. A folder is removed
 * only if it is this user's, of this machine and namespace, and its process is gone; and nothing but a workspace's own
 * files is removed with it.
 */
export function makePrivateFolder(): string {
  const parent = tmpdir().length <= MAX_PARENT ? tmpdir() : "/tmp";
  const place = placeOf();
  if (place !== undefined) removeAbandoned(parent, place);
  const owner = place === undefined ? "" : `${place}-${String(process.pid)}-${String(startOf(process.pid))}-`;
  return mkdtempSync(join(parent, `envport-${owner}`));
}

/** Removes such a folder; does nothing if it is gone. */
export function removePrivateFolder(folder: string): void {
  for (const name of Object.values(FOLDER_FILES)) rmSync(join(folder, name), { force: true });
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
