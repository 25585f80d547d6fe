import { Cgroup } from "./_cgroup.ts";
import type { SandboxLimits } from "./sandbox_options.ts";
import type { LimitsInForce } from "./sandbox_report.ts";

const DEFAULTS = { processes: 1024, tmpfs: 2 ** 31 };

/** How the limits of one start are enforced. */
export interface LimitPlan {
  /** bash's words that set resource limits. */
  readonly prelude: string;
  /** The private memory of each command, where no control group bounds all; the spawn server is not bound by it. */
  readonly dataKibibytes: number | undefined;
  readonly tmpfs: number;
  readonly cgroup: Cgroup;
  readonly inForce: LimitsInForce;
}

/**
 * Chooses a control group where the host lets us make one, and resource limits otherwise. The number of processes is
 * bounded by a resource limit as well: it costs nothing.
 *
 * @param limits What was asked for.
 * @param cgroups Whether to try control groups.
 * @throws {RangeError} If a limit is no positive integer.
 */
export function planLimits(limits: SandboxLimits = {}, cgroups = true): LimitPlan {
  for (const [name, value] of Object.entries(limits)) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0)) {
      throw new RangeError(
        `Cannot limit ${name} as the limit is no positive integer: current value is "${value}"`,
      );
    }
  }
  const {
    memory,
    processes = DEFAULTS.processes,
    tmpfs = DEFAULTS.tmpfs,
    fileSize,
    wallTime,
    output,
  } = limits;
  const cgroup = new Cgroup(cgroups ? { memory, processes } : {});
  const by = (limit: "memory" | "processes"): "cgroup" | "rlimit" =>
    cgroup.enforces(limit) ? "cgroup" : "rlimit";
  return {
    prelude: [
      "ulimit -c 0;",
      `ulimit -u ${String(processes)};`,
      fileSize === undefined ? "" : `ulimit -f ${String(kibibytes(fileSize))};`,
    ].join(" "),
    dataKibibytes: memory !== undefined && !cgroup.enforces("memory") ? kibibytes(memory) : undefined,
    tmpfs,
    cgroup,
    inForce: {
      ...(memory !== undefined && { memory: { value: memory, by: by("memory") } }),
      processes: { value: processes, by: by("processes") },
      tmpfs: { value: tmpfs, by: "mount" },
      ...(fileSize !== undefined && { fileSize: { value: fileSize, by: "rlimit" } }),
      ...(wallTime !== undefined && { wallTime: { value: wallTime, by: "server" } }),
      ...(output !== undefined && { output: { value: output, by: "server" } }),
    },
  };
}

const kibibytes = (bytes: number): number => Math.ceil(bytes / 1024);
