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
  readonly network: "none";
  /** The folder inside that commands start in. */
  readonly cwd: string;
}
