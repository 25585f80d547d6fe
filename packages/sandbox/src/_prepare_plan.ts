import { seccompFilter } from "./seccomp_filter.ts";
import { planMounts, NODE_PATH } from "./_mount_plan.ts";
import { chooseIdentity, handOver } from "./_identity.ts";
import { findProgram } from "./_find_program.ts";
import type { LaunchPlan } from "./_launch.ts";
import { stageCommand } from "./_stage.ts";
import { SandboxError } from "./sandbox_error.ts";
import type { SandboxOptions } from "./sandbox_options.ts";
import type { SandboxReport } from "./sandbox_report.ts";

const TMPFS_BYTES = 2 ** 31;

/** Decides everything about a start, and hands the root directory over where the dropped user could not work in it. */
export function preparePlan(
  options: SandboxOptions,
  path: string,
): { plan: Omit<LaunchPlan, "agent">; report: SandboxReport } {
  const bwrap = findProgram("bwrap");
  if (bwrap === undefined)
    throw new SandboxError("unavailable", "Cannot start the sandbox as bubblewrap is not installed");
  const mounts = planMounts({
    root: options.root,
    guestPath: options.guestPath ?? "/workspace",
    mounts: options.mounts ?? [],
    systemMounts: options.systemMounts,
    hidden: options.hidden ?? [],
  });
  const identity = chooseIdentity(mounts.root, options.identity);
  if (identity !== undefined) handOver(mounts.root, identity);
  const seccomp = filterOrNone();
  const sources = mounts.mounts.flatMap(({ kind, src }) =>
    (kind === "ro" || kind === "rw") && src !== undefined ? [{ path: src, writable: kind === "rw" }] : [],
  );
  return {
    plan: {
      bwrap,
      identity,
      stage: identity && stageCommand(bwrap, identity, [...sources, { path: mounts.root, writable: true }]),
      layout: { ...mounts, tmpfs: options.limits?.tmpfs ?? TMPFS_BYTES, path },
      seccomp,
      prelude: "ulimit -c 0;",
      node: NODE_PATH,
    },
    report: {
      isolation: "bwrap",
      seccomp: seccomp !== undefined,
      uid: identity?.uid ?? process.getuid!(),
      gid: identity?.gid ?? process.getgid!(),
      network: "none",
      cwd: mounts.guestPath,
    },
  };
}

function filterOrNone(): Uint8Array | undefined {
  try {
    return seccompFilter();
  } catch {
    return undefined;
  }
}
