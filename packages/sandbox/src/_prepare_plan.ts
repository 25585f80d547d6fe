import { realpathSync } from "node:fs";
import { findBwrap } from "./_find_bwrap.ts";
import { chooseIdentity, handOver } from "./_identity.ts";
import { ROAD_FD } from "./_launch.ts";
import type { LaunchPlan } from "./_launch.ts";
import { planLimits } from "./_limit_plan.ts";
import { NODE_PATH, planMounts } from "./_mount_plan.ts";
import type { MountPlan } from "./_mount_plan.ts";
import type { Mount } from "./mount.ts";
import { nameWarnings, networkFiles, planNetwork } from "./_network.ts";
import type { NetworkPlan } from "./_network.ts";
import { planRoad } from "./_road.ts";
import { dropCommand, stageCommand } from "./_stage.ts";
import type { SandboxOptions } from "./sandbox_options.ts";
import type { SandboxReport } from "./sandbox_report.ts";
import { seccompFilter } from "./seccomp_filter.ts";

/** A start, decided. */
export interface PreparedPlan {
  readonly network: NetworkPlan;
  readonly plan: Omit<LaunchPlan, "agent">;
  readonly report: SandboxReport;
  /** Undoes what only this start needed, once it has ended. */
  readonly release: () => Promise<void>;
}

/** What this machine turned out not to let us have. */
export interface Concessions {
  /** Control groups. */
  readonly cgroups?: true;
  /** A road to public hosts, and why not. */
  readonly road?: string;
}

/**
 * Decides everything about a start, and hands the root directory over where the dropped user could not work in it.
 *
 * @param options What was asked for.
 * @param path `PATH` of the spawn server.
 * @param without What not to try.
 */
export function preparePlan(options: SandboxOptions, path: string, without: Concessions): PreparedPlan {
  const network = planNetwork(options, without.road);
  const bwrap = findBwrap(options.bwrap);
  const mounts = planMounts({
    ...options,
    mounts: [...(network.share ? resolverMount() : []), ...(options.mounts ?? [])],
  });
  const identity = chooseIdentity(mounts.root, options.identity);
  const stage =
    identity && stageCommand(bwrap, identity, [...bindSources(mounts), { path: bwrap, writable: false }]);
  if (identity !== undefined) handOver(mounts.root, identity);
  const road = network.road ? planRoad(ROAD_FD) : undefined;
  const seccomp = filterOrNone();
  const { prelude, dataKibibytes, tmpfs, cgroup, inForce } = planLimits(
    options.limits,
    without.cgroups === undefined,
  );
  return {
    network,
    plan: {
      bwrap,
      identity,
      stage: road ? [...road.words, ...(stage ?? (identity ? dropCommand(identity) : []))] : stage,
      layout: { ...mounts, tmpfs, path, shareNetwork: network.share || network.road },
      files: networkFiles(network, mounts.mounts),
      road,
      seccomp,
      prelude,
      agentWords: dataKibibytes === undefined ? [] : [String(dataKibibytes)],
      node: NODE_PATH,
      confine: (pids) => cgroup.confine(pids),
    },
    report: {
      isolation: "bwrap",
      seccomp: seccomp !== undefined,
      uid: identity?.uid ?? process.getuid!(),
      gid: identity?.gid ?? process.getgid!(),
      network: network.report,
      warnings: [...network.warnings, ...nameWarnings(network, mounts.mounts)],
      cwd: mounts.guestPath,
      limits: inForce,
    },
    release: () => cgroup.release(),
  };
}

/** With the host's network come the host's name servers, whose file may be a link to somewhere else. */
function resolverMount(): Mount[] {
  const path = realOrUndefined("/etc/resolv.conf");
  return path === undefined || path.startsWith("/etc/") ? [] : [{ kind: "ro", src: path, dst: path }];
}

function realOrUndefined(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** The host paths of a plan. */
export function bindSources({ mounts, root }: MountPlan): { path: string; writable: boolean }[] {
  const sources = mounts.flatMap(({ kind, src }) =>
    (kind === "ro" || kind === "rw") && src !== undefined ? [{ path: src, writable: kind === "rw" }] : [],
  );
  return [...sources, { path: root, writable: true }];
}

function filterOrNone(): Uint8Array | undefined {
  try {
    return seccompFilter();
  } catch {
    return undefined;
  }
}
