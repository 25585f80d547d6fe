import type { AbortOptions } from "@envport/wire";
import type { NdArray } from "./nd_array.ts";
import type { RobotObservation } from "./robot_observation.ts";

/** An action: one number for each of its dimensions. */
export type RobotAction = NdArray | ArrayLike<number>;

/** Options of `RobotClient.connect`. */
export interface RobotConnectOptions extends AbortOptions {
  /**
   * Which slot to drive: what the environment gave the task.
   *
   * @default the only slot that is claimed
   */
  readonly token?: string | undefined;
  /**
   * How long the connection, the metadata and the first observation may take, each, in milliseconds. Afterwards nothing is
   * timed: a simulator may take its time.
   *
   * @default {30000}
   */
  readonly timeout?: number | undefined;
  /**
   * The largest frame that is accepted, in bytes.
   *
   * @default {104857600}
   */
  readonly maxFrameBytes?: number | undefined;
}

/** Options of `RobotClient.sendChunk`. */
export interface SendChunkOptions {
  /** `meta.obs_index` of the observation that the chunk is based on, from which the environment measures the delay. */
  readonly obsIndex?: number | undefined;
  /** The delay in steps that the policy reckoned with. */
  readonly delayUsed?: number | undefined;
}

/**
 * Decides what to do.
 *
 * @param observation What the robot sees.
 * @returns The next action; or several, as an array with two dimensions or a list of lists. Undefined stops the run.
 */
export type RobotPolicy = (observation: RobotObservation) => PolicyAnswer | Promise<PolicyAnswer>;

/** What a policy returns. */
export type PolicyAnswer = RobotAction | readonly ArrayLike<number>[] | undefined;

/** Options of `RobotClient.run`. */
export interface RobotRunOptions extends AbortOptions {
  /**
   * How many actions to take at most.
   *
   * @default {Infinity}
   */
  readonly maxSteps?: number | undefined;
  /**
   * How many of several actions to execute before the policy is asked again.
   *
   * @default {Infinity}
   */
  readonly chunkSize?: number | undefined;
}

/** How a run ended. */
export interface RobotRunResult {
  /** Actions that were taken. */
  readonly steps: number;
  /** Whether the episode is over; false if the policy stopped or `maxSteps` was reached. */
  readonly terminated: boolean;
  /** The sum of the rewards that the environment told. */
  readonly totalReward: number;
  /** The last observation. */
  readonly observation: RobotObservation;
}
