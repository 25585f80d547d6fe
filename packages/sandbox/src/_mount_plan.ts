import { existsSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, normalize } from "node:path";
import { isWithin, SERVICE_FOLDER } from "./bwrap_argv.ts";
import type { Mask } from "./bwrap_argv.ts";
import { defaultSystemMounts } from "./default_system_mounts.ts";
import type { Mount } from "./mount.ts";
import { SandboxError } from "./sandbox_error.ts";
import type { SandboxOptions } from "./sandbox_options.ts";

/** Where Node is inside, whatever it is called outside. */
export const NODE_PATH: string = `${SERVICE_FOLDER}/bin/node`;

/** Secrets of the machine that `/etc` holds. */
const SECRETS: readonly string[] = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/gshadow-",
  "/etc/sudoers",
  "/etc/sudoers.d",
  "/etc/krb5.keytab",
  "/etc/ssh",
  "/etc/ssl/private",
];

/** Host folders that are no place to work in: one would change owner, and shows too much. */
const NO_ROOTS: ReadonlySet<string> = new Set(
  "bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys tmp usr var"
    .split(" ")
    .map((name) => `/${name}`),
);

/** What a new `/proc` tells that no namespace contains: keys of the user on the host, and the kernel's insides. */
const PROC_SECRETS: readonly string[] = ["keys", "key-users", "timer_list", "sched_debug", "kcore"];

/** What a system list has to have; added where the caller's list lacks it. */
const ESSENTIAL: readonly Mount[] = [
  { kind: "proc", dst: "/proc" },
  { kind: "dev", dst: "/dev" },
  { kind: "tmpfs", dst: "/tmp" },
];

/** The parts of the options that decide what is visible inside. */
export type MountRequest = Pick<SandboxOptions, "root" | "guestPath" | "mounts" | "systemMounts" | "hidden">;

/** Checked and resolved: sources exist and are real paths, hidden paths are masked. */
export interface MountPlan {
  readonly root: string;
  readonly guestPath: string;
  readonly mounts: readonly Mount[];
  readonly masks: readonly Mask[];
}

/**
 * Resolves what a sandbox shows against the host's files.
 *
 * @throws {SandboxError} If a mount breaks a rule (`invalid-mount`) or a hidden path cannot be hidden
 * (`hidden-visible`).
 */
export function planMounts(request: MountRequest): MountPlan {
  const guestPath = checkDestination(request.guestPath ?? "/workspace", "guest path");
  const root = resolveSource(request.root, "root");
  if (NO_ROOTS.has(root) || !statSync(root).isDirectory()) {
    throw new SandboxError(
      "invalid-mount",
      `Cannot use the root as it is no directory of its own: current value is "${request.root}"`,
    );
  }
  const system = request.systemMounts ?? defaultSystemMounts();
  const essential = ESSENTIAL.filter(({ dst }) => !system.some((mount) => normalize(mount.dst) === dst));
  const mounts = [...system, ...essential, ...(request.mounts ?? [])].flatMap(resolveMount);
  mounts.push({ kind: "ro", src: realpathSync(process.execPath), dst: NODE_PATH });
  const secrets = SECRETS.map(realOrSelf).flatMap((path) => masksOf(path, mounts, undefined));
  const hidden = (request.hidden ?? []).map(realOrSelf).flatMap((path) => masksOf(path, mounts, root));
  const kernel = mounts.flatMap(({ kind, dst }) => (kind === "proc" ? kernelMasks(dst) : []));
  return { root, guestPath, mounts, masks: withoutNested([...secrets, ...kernel, ...hidden]) };
}

function resolveMount(mount: Mount): Mount[] {
  const dst = checkDestination(mount.dst, `${mount.kind} mount`);
  if (mount.kind === "symlink" || mount.kind === "ro" || mount.kind === "rw") {
    if (mount.src === undefined || mount.src === "" || mount.src.includes("\0")) {
      throw new SandboxError(
        "invalid-mount",
        `Cannot mount at "${dst}" as a ${mount.kind} mount needs a source: current value is "${mount.src}"`,
      );
    }
    if (mount.kind === "symlink") return [{ kind: "symlink", src: mount.src, dst }];
    if (mount.optional === true && statSync(mount.src, { throwIfNoEntry: false }) === undefined) return [];
    return [{ kind: mount.kind, src: resolveSource(mount.src, `${mount.kind} mount`), dst }];
  }
  return [{ kind: mount.kind, dst }];
}

function checkDestination(path: string, what: string): string {
  const normal = isAbsolute(path) ? normalize(path).replace(/(?<=.)\/+$/, "") : "";
  if (normal === "" || normal === "/" || path.includes("\0") || path.split("/").includes("..")) {
    throw new SandboxError(
      "invalid-mount",
      `Cannot place the ${what} as its path inside is not absolute, below "/" and free of "..": current value is "${path}"`,
    );
  }
  if (isWithin(normal, SERVICE_FOLDER) || isWithin(SERVICE_FOLDER, normal)) {
    throw new SandboxError(
      "invalid-mount",
      `Cannot place the ${what} as "${SERVICE_FOLDER}" is reserved: current value is "${path}"`,
    );
  }
  return normal;
}

function resolveSource(path: string, what: string): string {
  if (!isAbsolute(path)) {
    throw new SandboxError(
      "invalid-mount",
      `Cannot mount the ${what} as its host path is not absolute: current value is "${path}"`,
    );
  }
  let real: string;
  try {
    real = realpathSync(path);
  } catch (error) {
    throw new SandboxError(
      "invalid-mount",
      `Cannot mount the ${what} as its host path does not resolve: current value is "${path}"`,
      { cause: error },
    );
  }
  if (real === "/")
    throw new SandboxError(
      "invalid-mount",
      `Cannot mount the ${what} as it is the host's "/": current value is "${path}"`,
    );
  return real;
}

function realOrSelf(path: string): string {
  if (!isAbsolute(path))
    throw new TypeError(`Cannot hide a path as it is not absolute: current value is "${path}"`);
  try {
    return realpathSync(path);
  } catch {
    return normalize(path);
  }
}

/**
 * The masks that a host path needs: one for every mount that shows it.
 *
 * @param root The sandbox's own directory, where the path is one of the caller's and may lie in it; that is refused.
 */
function masksOf(path: string, mounts: readonly Mount[], root: string | undefined): Mask[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  if (root !== undefined && isWithin(path, root)) throw visible(path, root);
  return mounts.flatMap(({ kind, src, dst }): Mask[] => {
    if ((kind !== "ro" && kind !== "rw") || src === undefined || dst === NODE_PATH || !isWithin(path, src))
      return [];
    if (kind === "rw" || path === src) throw visible(path, src);
    return [{ path: `${dst}${path.slice(src.length)}`, kind: found.isDirectory() ? "directory" : "file" }];
  });
}

function kernelMasks(proc: string): Mask[] {
  return PROC_SECRETS.filter((name) => existsSync(`/proc/${name}`)).map((name) => ({
    path: `${proc}/${name}`,
    kind: "file",
  }));
}

function visible(path: string, source: string): SandboxError {
  return new SandboxError(
    "hidden-visible",
    `Cannot start the sandbox as a hidden path would be visible inside, in the mounted "${source}": current value is "${path}"; move it elsewhere`,
  );
}

/** A mask inside a masked directory has nothing left to cover. */
function withoutNested(masks: readonly Mask[]): Mask[] {
  const unique = [...new Map(masks.map((mask) => [mask.path, mask])).values()];
  return unique.filter(
    (mask) =>
      !unique.some(
        (other) => other !== mask && other.kind === "directory" && isWithin(mask.path, other.path),
      ),
  );
}
