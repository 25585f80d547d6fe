import type { Mount } from "./mount.ts";
import type { Peer } from "./peer.ts";

/** What a sandbox shows and allows. */
export interface SandboxOptions {
  /** The host directory that the sandbox works in, readable and writable at `guestPath`. It has to exist. */
  readonly root: string;
  /**
   * Where `root` appears inside.
   *
   * @default {"/workspace"}
   */
  readonly guestPath?: string | undefined;
  /** Further mounts, after the system's. None may lie in an agent-writable directory, `guestPath` included. */
  readonly mounts?: readonly Mount[] | undefined;
  /**
   * Replaces the system's mounts. `/proc`, `/dev` and `/tmp` are added where the list has none.
   *
   * @default {defaultSystemMounts()}
   */
  readonly systemMounts?: readonly Mount[] | undefined;
  /**
   * The environment of every command, whole: nothing is inherited or added.
   *
   * @default {PATH, HOME = guestPath, LANG = "C.UTF-8"}
   */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Whom to run as where this process is root; root itself is refused. Ignored otherwise.
   *
   * @default {the owner of root, or 65534:65534 where that is uid 0}
   */
  readonly identity?: { readonly uid: number; readonly gid: number } | undefined;
  /** Host paths that must not be visible inside. Under a read-only mount they are masked, elsewhere `start()` refuses. */
  readonly hidden?: readonly string[] | undefined;
  /**
   * What it reaches besides its own loopback and `peers`.
   *
   * | value | meaning |
   * | --- | --- |
   * | `none` | nothing |
   * | `outbound` | public hosts: by pasta where that works, else over HTTP and HTTPS through a proxy; the report says which |
   * | `shared` | the host's network, with every service of this machine: a warning in the report says so |
   *
   * @default {"none"}
   */
  readonly network?: "none" | "outbound" | "shared" | undefined;
  /**
   * The only hosts that the proxy lets through; an empty list lets nothing through. See {@linkcode HostList}. Commands get
   * `http_proxy` and its like in their environment.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Services outside that it may reach, each by its name and port. */
  readonly peers?: readonly Peer[] | undefined;
  /**
   * The path of bubblewrap.
   *
   * @default {the first bwrap in PATH}
   */
  readonly bwrap?: string | undefined;
  /** What it may use. */
  readonly limits?: SandboxLimits | undefined;
}

/** What a sandbox may use. `report.limits` tells how each is enforced on this machine. */
export interface SandboxLimits {
  /** Bytes of memory: all together with a cgroup, else the private memory of each process. */
  readonly memory?: number | undefined;
  /**
   * Processes and threads at a time, the spawn server's dozen included.
   *
   * @default {1024}
   */
  readonly processes?: number | undefined;
  /**
   * Bytes of each directory in memory (`/tmp`, `/dev/shm`, `tmpfs` mounts).
   *
   * @default {2147483648}
   */
  readonly tmpfs?: number | undefined;
  /** Bytes of any one file that is written. */
  readonly fileSize?: number | undefined;
  /** Milliseconds that each command may take; then it is killed and its exit says `limit: "wallTime"`. */
  readonly wallTime?: number | undefined;
  /** Bytes that each command may write to its output and errors; then it is killed with `limit: "output"`. */
  readonly output?: number | undefined;
}
