import { closeSync, constants, fchmodSync, fchownSync, fstatSync, openSync, statSync } from "node:fs";
import type { Stats } from "node:fs";
import { dirname } from "node:path";
import { SandboxError } from "./sandbox_error.ts";

/** A user and group of the host. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** "nobody": whom a served root is dropped to where the root directory belongs to uid 0. */
const NOBODY: Identity = { uid: 65534, gid: 65534 };

/**
 * Whom the sandbox runs as: undefined where this process is not root, and stays what it is.
 *
 * @throws {SandboxError} If the identity asked for is root's, code `invalid-identity`.
 */
export function chooseIdentity(root: string, asked: Identity | undefined): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(root);
  const identity = asked ?? (owner.uid === 0 ? NOBODY : { uid: owner.uid, gid: owner.gid || owner.uid });
  const valid = (id: number): boolean => Number.isInteger(id) && id > 0 && id < 2 ** 32 - 1;
  if (!valid(identity.uid) || !valid(identity.gid)) {
    throw new SandboxError(
      "invalid-identity",
      `Cannot run the sandbox as its user and group are not integers above 0: current value is "${String(identity.uid)}:${String(identity.gid)}"`,
    );
  }
  return identity;
}

/** Whether the classic permission bits let somebody in; `bits` is any of 4 (read), 2 (write), 1 (enter). */
export function permits(stats: Stats, { uid, gid }: Identity, bits: number): boolean {
  const shift = stats.uid === uid ? 6 : stats.gid === gid ? 3 : 0;
  return ((stats.mode >> shift) & bits) === bits;
}

/** The topmost folder above a path that the identity cannot enter. */
export function barrierOf(path: string, identity: Identity): string | undefined {
  const parent = dirname(path);
  if (parent === path) return undefined;
  return barrierOf(parent, identity) ?? (permits(statSync(parent), identity, 1) ? undefined : parent);
}

/** Gives the root directory itself to the identity where it could not work there; its content stays whose it is. */
export function handOver(root: string, identity: Identity): void {
  const folder = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const stats = fstatSync(folder);
    if (permits(stats, identity, 7)) return;
    fchownSync(folder, identity.uid, identity.gid);
    fchmodSync(folder, (stats.mode & 0o7777) | 0o700);
  } finally {
    closeSync(folder);
  }
}
