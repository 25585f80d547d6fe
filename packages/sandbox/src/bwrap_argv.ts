import type { Mount } from "./mount.ts";
import { SandboxError } from "./sandbox_error.ts";

/** Where the sandbox keeps what it brings along: the spawn server and Node. */
export const SERVICE_FOLDER = "/run/envport";

/** What {@linkcode bwrapArgv} turns into arguments. Paths are absolute and resolved, sources exist. */
export interface BwrapLayout {
  /** In order: the system's mounts, then the caller's. */
  readonly mounts: readonly Mount[];
  /** Paths inside that are covered by something empty. */
  readonly masks?: readonly Mask[] | undefined;
  /** Files that are made of what a descriptor gives. */
  readonly files?: readonly { readonly fd: number; readonly dst: string }[] | undefined;
  /** The host directory of the sandbox. */
  readonly root: string;
  /** Where `root` appears; it is mounted last. */
  readonly guestPath: string;
  /** Descriptors that bubblewrap inherits, for its options of the same names. */
  readonly fds?:
    | {
        readonly info?: number | undefined;
        readonly block?: number | undefined;
        readonly seccomp?: number | undefined;
      }
    | undefined;
  /** The largest size of each tmpfs, in bytes. */
  readonly tmpfs: number;
  /**
   * Stays in the host's network namespace.
   *
   * @default {false}
   */
  readonly shareNetwork?: boolean | undefined;
  /** `PATH` of the spawn server; commands have an environment of their own. */
  readonly path: string;
}

/** A path inside that nothing may see. */
export interface Mask {
  readonly path: string;
  readonly kind: "file" | "directory";
}

const NAMESPACES = [
  "--die-with-parent",
  "--new-session",
  "--unshare-user",
  "--disable-userns",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
];

/** Whether `path` is `folder` or lies below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

/**
 * The arguments of bubblewrap for a layout, without the command.
 *
 * No mount point is below a directory that the sandboxed user can write on the host: bubblewrap makes missing mount
 * points by path and would follow a planted link (CVE-2026-87766). The root comes last, after it only `/` turns
 * read-only.
 *
 * @throws {SandboxError} If a mount point lies below an agent-writable directory or a symbolic link, code
 * `invalid-mount`.
 *
 * @example
 * ```ts
 * import { bwrapArgv } from "@envport/sandbox";
 * import assert from "node:assert/strict";
 *
 * const argv = bwrapArgv({
 *   mounts: [{ kind: "ro", src: "/usr", dst: "/usr" }],
 *   root: "/srv/task",
 *   guestPath: "/workspace",
 *   tmpfs: 2 ** 30,
 *   path: "/usr/bin",
 * });
 * assert.deepEqual(argv.slice(-7), ["--bind", "/srv/task", "/workspace", "--chdir", "/workspace", "--remount-ro", "/"]);
 * ```
 */
export function bwrapArgv(layout: BwrapLayout): string[] {
  checkMountPoints(layout);
  const { fds = {}, root, guestPath } = layout;
  const inherited = (name: string, fd: number | undefined): string[] =>
    fd === undefined ? [] : [name, String(fd)];
  return [
    ...NAMESPACES,
    ...(layout.shareNetwork === true ? [] : ["--unshare-net"]),
    ...["--cap-drop", "ALL", "--hostname", "workspace"],
    ...["--clearenv", "--setenv", "PATH", layout.path],
    ...inherited("--info-fd", fds.info),
    ...inherited("--block-fd", fds.block),
    ...inherited("--seccomp", fds.seccomp),
    // Otherwise bubblewrap makes them for their owner alone.
    ...["/run", SERVICE_FOLDER, `${SERVICE_FOLDER}/bin`, "/var"].flatMap((path) => [
      "--perms",
      "0755",
      "--dir",
      path,
    ]),
    ...layout.mounts.flatMap((mount) => mountArguments(mount, layout.tmpfs)),
    ...(layout.masks ?? []).flatMap(maskArguments),
    ...(layout.files ?? []).flatMap(({ fd, dst }) => ["--perms", "0444", "--ro-bind-data", String(fd), dst]),
    ...["--bind", root, guestPath, "--chdir", guestPath, "--remount-ro", "/"],
  ];
}

function mountArguments({ kind, src = "", dst }: Mount, tmpfs: number): string[] {
  const memory = (path: string): string[] => ["--perms", "1777", "--size", String(tmpfs), "--tmpfs", path];
  switch (kind) {
    case "ro":
      return ["--ro-bind", src, dst];
    case "rw":
      return ["--bind", src, dst];
    case "tmpfs":
      return memory(dst);
    case "symlink":
      return ["--symlink", src, dst];
    case "proc":
      return ["--proc", dst];
    case "dev":
      return ["--dev", dst, ...memory(`${dst}/shm`), "--remount-ro", dst];
  }
}

function maskArguments({ path, kind }: Mask): string[] {
  if (kind === "file") return ["--ro-bind", "/dev/null", path];
  return ["--perms", "0555", "--tmpfs", path, "--remount-ro", path];
}

function checkMountPoints({ mounts, masks = [], files = [], root, guestPath }: BwrapLayout): void {
  const writableSources = [root, ...mounts.flatMap(({ kind, src }) => (kind === "rw" && src ? [src] : []))];
  const isWritable = ({ kind, src }: Mount): boolean =>
    (kind === "ro" || kind === "rw") &&
    src !== undefined &&
    writableSources.some((tree) => isWithin(src, tree));
  const all: readonly Mount[] = [...mounts, { kind: "rw", src: root, dst: guestPath }];
  const points = [...all, ...masks.map(({ path }) => ({ dst: path })), ...files];
  for (const outer of all) {
    if (outer.kind !== "symlink" && !isWritable(outer)) continue;
    const what = outer.kind === "symlink" ? "symbolic link" : "agent-writable";
    for (const point of points) {
      if (point === outer || !isWithin(point.dst, outer.dst)) continue;
      if (point.dst === outer.dst && outer.kind !== "symlink" && outer.dst !== guestPath) continue;
      throw new SandboxError(
        "invalid-mount",
        `Cannot mount at "${point.dst}" as no mount point may be in the ${what} "${outer.dst}"`,
      );
    }
  }
}
