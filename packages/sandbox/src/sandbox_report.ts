import type { SandboxLimits } from "./sandbox_options.ts";

/** What is in force in a running sandbox. */
export interface SandboxReport {
  /** What isolates it. */
  readonly isolation: "bwrap";
  /** Whether the seccomp filter is on: there is one for x64 and arm64. */
  readonly seccomp: boolean;
  /** Whom its processes run as, in the host's numbers. */
  readonly uid: number;
  readonly gid: number;
  /** What it can reach. */
  readonly network: SandboxNetwork;
  /** The folder inside that commands start in. */
  readonly cwd: string;
  /** What an operator should know, such as a shared network. */
  readonly warnings: readonly string[];
  /** Each limit and what enforces it. */
  readonly limits: LimitsInForce;
}

/**
 * | by | meaning |
 * | --- | --- |
 * | `cgroup` | the kernel, for all processes together |
 * | `rlimit` | the kernel, for each process by itself (`processes`: for all of them) |
 * | `mount` | the size of each file system in memory |
 * | `server` | this process, for each command |
 */
export type LimitsInForce = {
  readonly [name in keyof SandboxLimits]?: {
    readonly value: number;
    readonly by: "cgroup" | "rlimit" | "mount" | "server";
  };
};

/** What a sandbox reaches besides its own loopback. */
export interface SandboxNetwork {
  /**
   * `none`, `outbound` (public IPv4 addresses), `proxy` (HTTP and HTTPS to allowed hosts), or `shared` (the host's
   * network).
   */
  readonly mode: "none" | "outbound" | "proxy" | "shared";
  /** The allow-list of the proxy. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Names of the services it may reach. */
  readonly peers?: readonly string[] | undefined;
}
