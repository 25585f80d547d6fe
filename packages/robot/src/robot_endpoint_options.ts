import type { AbortOptions, JsonObject } from "@envport/wire";
import type { RobotBridgeOptions } from "./robot_bridge_options.ts";

/** What every endpoint has. */
export interface RobotEndpointOptions {
  /**
   * The name of its capability.
   *
   * @default {"robot"}
   */
  readonly name?: string | undefined;
}

/** Options of a simulator in this process. */
export interface RobotLocalOptions extends RobotEndpointOptions, RobotBridgeOptions {
  /**
   * The address to listen on. Without `host` and `port` it is a socket in a private folder, which no web page, no sandboxed
   * process and no other user reaches.
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
}

/** Options of a simulator that somebody else runs. */
export interface RobotAttachOptions extends RobotEndpointOptions {
  /**
   * How long the simulator may take to answer, in milliseconds.
   *
   * @default {900000}
   */
  readonly connectTimeout?: number | undefined;
}

/** Options of a simulator in a process of its own. How it treats agents is its own business. */
export interface RobotSpawnOptions extends RobotAttachOptions {
  /**
   * Its working directory.
   *
   * @default the current one
   */
  readonly cwd?: string | undefined;
  /**
   * Variables beside those of this process.
   *
   * @default {{}}
   */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Told what it prints on standard output, line by line.
   *
   * @default writes to standard error
   */
  readonly onLine?: ((this: void, line: string) => void) | undefined;
}

/** Options of a simulator in a worker thread. */
export interface RobotWorkerOptions extends RobotAttachOptions {
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** What the worker gets as `workerData`. */
  readonly workerData?: unknown;
  /** Told what it prints on standard output, line by line. */
  readonly onLine?: ((this: void, line: string) => void) | undefined;
}

/** Options of `RobotEndpoint.reset`. */
export interface RobotResetOptions extends AbortOptions {
  /** The session whose task it is: `ctx.sessionId`. `release` gives the slots of a session up. */
  readonly session?: string | undefined;
}

/** An episode that has begun. */
export interface RobotEpisode {
  /** By which its agent finds the slot. */
  readonly token: string;
  /** What the agent is asked to do. */
  readonly prompt: string;
  /** Both as a task yields them: `{prompt, bindings: {robot: {token}}}`. */
  readonly frame: JsonObject;
}
