import type { AbortOptions } from "./abort_options.ts";
import type { Capability } from "./capability.ts";

/**
 * Where the server dials to reach a capability's daemon, when that is not the host and port of its URL. It never
 * crosses the wire (TUN-1): a socket in a private folder cannot be reached by a web page, a sandboxed process or another
 * user, as a TCP port on loopback could be.
 */
export type DialTarget = { path: string } | { host: string; port: number };

/** A capability as a service hands it to its environment. */
export interface PublishedCapability extends Capability {
  /** @default the host and port of `url` */
  dial?: DialTarget;
}

/**
 * Something that an environment runs: a daemon, or several that belong together. This is the seam between the server
 * and every package that starts something.
 *
 * ```text
 * idle ── start() ──▶ running ── stop() ──▶ idle
 *                        └── the daemon dies: `closed` resolves to the reason, its bindings are down
 * ```
 */
export interface Service {
  /** What errors and logs call it. */
  readonly name: string;
  /**
   * Starts the daemon and resolves once it answers. After a `stop` it may be started again.
   *
   * @returns What to publish.
   */
  start(options?: AbortOptions): Promise<readonly PublishedCapability[]>;
  /** Stops the daemon and everything it started. Idempotent; also called after a failed start. */
  stop(): Promise<void>;
  /**
   * Resolves when the daemon of the latest start is gone: to undefined after a `stop`, else to the reason. Read after
   * `start` has resolved.
   */
  readonly closed?: Promise<Error | undefined>;
}
