import type { JsonObject } from "@envport/wire";
import type { FrameValue } from "./encode.ts";
import type { NdArray } from "./nd_array.ts";
import type { RobotContract } from "./robot_contract.ts";

/** What one slot sees. */
export interface SlotObservation {
  /** The arrays by the names of the contract, each with one dimension at least, of this slot alone. */
  readonly data: Readonly<Record<string, NdArray>>;
  /** Whether the episode of this slot is over. */
  readonly terminated: boolean;
  /**
   * What the last step was worth.
   *
   * @default nothing is told
   */
  readonly reward?: number | undefined;
  /**
   * Whether the task is done, as far as the simulator says; it counts at the end of the episode. It is not told to the agent.
   *
   * @default nothing is known
   */
  readonly success?: boolean | undefined;
}

/** How an episode went. The members cross the wire under these names, and more may be added. */
export interface RobotGrade {
  readonly score: number;
  /** null if the simulator never said. */
  readonly success: boolean | null;
  /** The rewards until the end of the episode. */
  readonly total_reward: number;
  readonly [key: string]: unknown;
}

/** Something, now or later. */
export type Await<T> = T | Promise<T>;

/**
 * A simulator, or a robot, as an environment runs it: one world or several that are stepped together. One call at a time is
 * made, and never one before `contract`. {@linkcode gym} makes one of an environment in Gymnasium's shape.
 *
 * What a method throws is told to the agents as its message, without a stack trace.
 */
export interface RobotBridge {
  /**
   * How many worlds are stepped together, one for each agent; each is a slot.
   *
   * @default {1}
   */
  readonly numEnvs?: number | undefined;
  /**
   * What agents are told when they connect, beside `claim_required`.
   *
   * @default {{}}
   */
  readonly metadata?: Readonly<Record<string, FrameValue>> | undefined;
  /** What the robot looks like. It must declare an action. */
  contract(): Await<RobotContract>;
  /**
   * Begins an episode in all slots.
   *
   * @param args What the task says, such as `seed`.
   * @returns What the agent is asked to do.
   */
  reset(args: JsonObject): Await<string>;
  /**
   * Moves all worlds on by one step.
   *
   * @param actions One row for each slot, slots × numbers of an action.
   * @param acting Which slots have an agent that acts; the others get an action that holds still.
   */
  step(actions: NdArray<Float32Array>, acting: readonly boolean[]): Await<void>;
  /** What each slot sees now, one entry for each. */
  observe(): Await<readonly SlotObservation[]>;
  /**
   * What to do in a slot that nobody drives.
   *
   * @default zeros
   */
  holdAction?(): ArrayLike<number>;
  /**
   * Looks at an action of one agent, which has the right number of finite numbers. What it throws is told to this agent, and
   * to no other.
   */
  checkAction?(action: Float32Array, slot: number): void;
  /**
   * How the episode of a slot went.
   *
   * @default 1 or 0 if an observation at the end said `success`, else the sum of the rewards
   */
  result?(slot: number): Await<RobotGrade>;
  /** Ends the simulator. */
  close?(): Await<void>;
}
