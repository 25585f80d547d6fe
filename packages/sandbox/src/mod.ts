/**
 * A persistent bubblewrap sandbox around a directory: what it shows, whom it runs as, what it may use and reach.
 *
 * @module
 */
export type { AbortOptions } from "./abort_options.ts";
export { SERVICE_FOLDER, bwrapArgv } from "./bwrap_argv.ts";
export type { BwrapLayout, Mask } from "./bwrap_argv.ts";
export { bwrapCommand } from "./bwrap_command.ts";
export { DEFAULT_PATH } from "./default_path.ts";
export { defaultSystemMounts } from "./default_system_mounts.ts";
export { HostList, hostName } from "./host_list.ts";
export type { Mount } from "./mount.ts";
export type { Peer } from "./peer.ts";
export { probe } from "./probe.ts";
export type { ProbeOptions, ProbeResult } from "./probe.ts";
export { Sandbox } from "./sandbox.ts";
export type { SandboxEnd } from "./sandbox_end.ts";
export { SandboxError } from "./sandbox_error.ts";
export type { SandboxErrorCode } from "./sandbox_error.ts";
export type { SandboxLimits, SandboxOptions } from "./sandbox_options.ts";
export type { SandboxCommand, SandboxExit, SandboxProcess, TerminalSize } from "./sandbox_process.ts";
export type { LimitsInForce, SandboxNetwork, SandboxReport } from "./sandbox_report.ts";
export { seccompFilter } from "./seccomp_filter.ts";
