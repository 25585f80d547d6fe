import type { Mount, Peer, SandboxLimits } from "@envport/sandbox";

/** What a workspace shows, where it listens, and whom it lets in. */
export interface WorkspaceOptions {
  /**
   * The name of its capability.
   *
   * @default {"shell"}
   */
  readonly name?: string | undefined;
  /**
   * Further mounts of the sandbox.
   *
   * @default {[]}
   */
  readonly mounts?: readonly Mount[] | undefined;
  /**
   * What the sandbox reaches besides its own loopback and `peers`.
   *
   * | value | meaning |
   * | --- | --- |
   * | `false` | nothing |
   * | `true` | public hosts, neither this machine nor private addresses: with ordinary sockets where `pasta` works, else over HTTP and HTTPS through a proxy, and the log says why |
   * | `"shared"` | this machine's network and every service on it, the control port too: the log has a warning |
   *
   * @default {false}
   */
  readonly network?: boolean | "shared" | undefined;
  /** The only hosts that are reached, by name or subdomain, over HTTP and HTTPS; an empty list lets nothing through. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Services of the environment that the sandbox may reach, each by its name and port. */
  readonly peers?: readonly Peer[] | undefined;
  /** Variables of every command, on top of `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL` and `LANG`. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Replaces the system's mounts. */
  readonly systemMounts?: readonly Mount[] | undefined;
  /**
   * Where the directory appears inside.
   *
   * @default {"/workspace"}
   */
  readonly guestPath?: string | undefined;
  /**
   * The address to listen on. Without `host` and `port` it is a socket in a private folder, which no web page, no
   * sandboxed process and no other user reaches.
   *
   * @default {"127.0.0.1"} if `port` is given
   */
  readonly host?: string | undefined;
  /**
   * The port to listen on; 0 is any.
   *
   * @default {0} if `host` is given
   */
  readonly port?: number | undefined;
  /**
   * The user to log in as.
   *
   * @default {"agent"}
   */
  readonly user?: string | undefined;
  /**
   * The path of a private key that the server proves itself with.
   *
   * @default an ed25519 key made at start
   */
  readonly hostKeyPath?: string | undefined;
  /**
   * Paths of the public keys that may log in; the binding then carries no private key.
   *
   * @default one ed25519 key made at start, whose private half is in the binding
   */
  readonly authorizedClientKeys?: readonly string[] | undefined;
  /**
   * Whether changes of files are tracked, and published as a second capability, `filetracking/1`.
   *
   * @default {false} for `new Workspace()`; `workspace()` follows `HUD_FILE_TRACKING_ENABLED`, and tracks if it is not set
   */
  readonly trackFiles?: boolean | undefined;
  /**
   * `required`: `start` refuses where bubblewrap cannot sandbox. `none`: commands run on this machine as they are.
   *
   * @default {"required"} on Linux, else `"none"`, with a warning
   */
  readonly isolation?: "required" | "none" | undefined;
  /**
   * The path of bubblewrap.
   *
   * @default the one in PATH
   */
  readonly bwrap?: string | undefined;
  /** What the sandbox may use. */
  readonly limits?: SandboxLimits | undefined;
  /**
   * Whom the sandbox runs as where this process is root.
   *
   * @default the owner of the directory, or nobody if that is root
   */
  readonly identity?: { readonly uid: number; readonly gid: number } | undefined;
  /**
   * Host paths that must not be visible inside.
   *
   * @default the package of the running program, and the current folder
   */
  readonly hidden?: readonly string[] | undefined;
  /**
   * Receives what must not cross the wire: the reasons for which a session could not start.
   *
   * @default the console's error output
   */
  readonly log?: ((message: string, error: unknown) => void) | undefined;
}
