import { DEFAULT_PATH, bwrapArgv, defaultSystemMounts } from "@envport/sandbox";
import type { Mask, Mount } from "@envport/sandbox";
import { existsSync, realpathSync, statSync } from "node:fs";
import type { WorkspaceOptions } from "./workspace_options.ts";

const NOBODY = 65_534;
const TMPFS_BYTES = 2 ** 31;
const ESSENTIAL: readonly Mount[] = [
  { kind: "proc", dst: "/proc" },
  { kind: "dev", dst: "/dev" },
  { kind: "tmpfs", dst: "/tmp" },
];

/** What {@linkcode bwrapCommand} builds from. */
export interface BwrapCommandOptions {
  /** The directory on this machine. It exists. */
  readonly root: string;
  readonly guestPath: string;
  /** Variables of the command. */
  readonly env: Readonly<Record<string, string>>;
  /** Host paths that must not be visible. */
  readonly hidden: readonly string[];
  readonly options: WorkspaceOptions;
}

/**
 * The program and arguments of a process of the caller's own, in a sandbox of its own around the same directory. It
 * drops root first, as the workspace's sandbox does; it has no seccomp filter, no limits and no proxy, which need more
 * than arguments.
 *
 * @param command What to run.
 * @param setup The workspace.
 */
export function bwrapCommand(command: readonly string[], setup: BwrapCommandOptions): string[] {
  const { root, guestPath, env, hidden, options } = setup;
  const { systemMounts = defaultSystemMounts(), mounts = [], network } = options;
  const missing = ESSENTIAL.filter(({ dst }) => !systemMounts.some((mount) => mount.dst === dst));
  const all = [...systemMounts, ...missing, ...mounts].flatMap(resolveMount);
  const argv = bwrapArgv({
    mounts: all,
    masks: hidden.flatMap((path) => masksOf(path, all)),
    root: realpathSync(root),
    guestPath,
    fds: { info: 0, block: 0 },
    tmpfs: options.limits?.tmpfs ?? TMPFS_BYTES,
    shareNetwork: network === "shared",
    path: env["PATH"] ?? DEFAULT_PATH,
  });
  const at = argv.indexOf("--info-fd"); // the descriptors are the persistent sandbox's
  argv.splice(at, 4);
  const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  return [...dropRoot(root, options), "bwrap", ...argv, ...variables, "--", ...command];
}

function dropRoot(root: string, { identity }: WorkspaceOptions): string[] {
  if (process.getuid?.() !== 0) return [];
  const owner = statSync(root);
  const { uid, gid } = identity ?? (owner.uid === 0 ? { uid: NOBODY, gid: NOBODY } : owner);
  return [
    "setpriv",
    `--reuid=${String(uid)}`,
    `--regid=${String(gid)}`,
    "--clear-groups",
    "--no-new-privs",
    "--",
  ];
}

function resolveMount(mount: Mount): Mount[] {
  if ((mount.kind !== "ro" && mount.kind !== "rw") || mount.src === undefined) return [mount];
  if (!existsSync(mount.src)) return mount.optional ? [] : [mount];
  return [{ ...mount, src: realpathSync(mount.src) }];
}

/** Where a host path would appear. */
function masksOf(path: string, mounts: readonly Mount[]): Mask[] {
  if (!existsSync(path)) return [];
  const real = realpathSync(path);
  const kind = statSync(real).isDirectory() ? "directory" : "file";
  return mounts.flatMap(({ src, dst }): Mask[] =>
    src !== undefined && real.startsWith(`${src}/`) ? [{ path: dst + real.slice(src.length), kind }] : [],
  );
}
