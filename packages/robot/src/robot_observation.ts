import type { FrameValue } from "./encode.ts";
import type { NdArray } from "./nd_array.ts";

/** What a robot sees at one moment, as an agent gets it. */
export interface RobotObservation {
  /** The arrays by the names of the contract. They are views on the frame: copy what is to be changed. */
  readonly data: Readonly<Record<string, NdArray>>;
  /** Whether the episode is over, for whatever reason; no action is taken after it. */
  readonly terminated: boolean;
  /** What the last step was worth, where the environment says so. */
  readonly reward: number | undefined;
  /** What a free-running environment says of its queue of actions: `obs_index`, `queue_remaining`, `delay` and more. */
  readonly meta: Readonly<Record<string, FrameValue>> | undefined;
  /** Whatever else was in the frame and is no array. */
  readonly extra: Readonly<Record<string, FrameValue>>;
}
