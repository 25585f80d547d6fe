import { lstatSync, readlinkSync } from "node:fs";
import type { Mount } from "./mount.ts";

/** Directories of `/` that are links into `/usr` on merged systems and real ones elsewhere. */
const MERGED = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/**
 * The mounts of a sandbox unless `systemMounts` replaces them: this machine's programs and settings read-only, and
 * private `/proc`, `/dev`, `/tmp`.
 *
 * @example
 * ```ts
 * import { defaultSystemMounts } from "@envport/sandbox";
 * import assert from "node:assert/strict";
 *
 * assert(defaultSystemMounts().some(({ kind, dst }) => kind === "ro" && dst === "/usr"));
 * ```
 */
export function defaultSystemMounts(): Mount[] {
  return [
    { kind: "ro", src: "/usr", dst: "/usr" },
    { kind: "ro", src: "/etc", dst: "/etc" },
    ...MERGED.flatMap((name) => topLevel(`/${name}`)),
    { kind: "proc", dst: "/proc" },
    { kind: "dev", dst: "/dev" },
    { kind: "tmpfs", dst: "/tmp" },
    { kind: "symlink", src: "../tmp", dst: "/var/tmp" },
  ];
}

function topLevel(path: string): Mount[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return [
    found.isSymbolicLink()
      ? { kind: "symlink", src: readlinkSync(path), dst: path }
      : { kind: "ro", src: path, dst: path },
  ];
}
