import type { JsonObject } from "@envport/wire";
import type { NdArray, TypedData } from "./nd_array.ts";
import type { Await } from "./robot_bridge.ts";

/** Numbers within bounds, of any shape. */
export interface BoxSpace {
  readonly type: "box";
  readonly shape: readonly number[];
  /**
   * The element type by numpy's name.
   *
   * @default {"float32"}
   */
  readonly dtype?: string | undefined;
  /** The bounds; for a contract they are informational: the environment clips, or not. */
  readonly low?: number | readonly number[] | undefined;
  readonly high?: number | readonly number[] | undefined;
}

/** One of `n` choices, from `start` on. */
export interface DiscreteSpace {
  readonly type: "discrete";
  readonly n: number;
  /** @default {0} */
  readonly start?: number | undefined;
}

/** Several choices at once, from 0 on. */
export interface MultiDiscreteSpace {
  readonly type: "multi-discrete";
  readonly nvec: readonly number[];
}

/** What an agent can do in one world. */
export type ActionSpace = BoxSpace | DiscreteSpace | MultiDiscreteSpace;

/** What an environment says that it sees: nested objects become names with slashes. */
export type GymObservation =
  NdArray | TypedData | number | boolean | { readonly [key: string]: GymObservation };

/** What an environment says beside it. `success`, `is_success` and `task_success` say whether the task is done. */
export type GymInfo = Readonly<Record<string, unknown>>;

/** Options of a reset. */
export interface GymResetOptions {
  readonly seed?: number | undefined;
  readonly options?: JsonObject | undefined;
}

/** What environments of both kinds have. */
interface GymEnvBase {
  /** `render_fps` of Gymnasium. */
  readonly metadata?: { readonly renderFps?: number | undefined } | undefined;
  /** What the agent is asked to do. It is read after each reset. */
  readonly taskDescription?: string | undefined;
  close?(): Await<void>;
}

/**
 * An environment in the shape of Gymnasium's `Env`: one world. A step after the end is the caller's mistake, and a bridge
 * never makes it.
 */
export interface GymEnv extends GymEnvBase {
  readonly numEnvs?: undefined;
  readonly actionSpace: ActionSpace;
  reset(options?: GymResetOptions): Await<readonly [observation: GymObservation, info: GymInfo]>;
  /** @param action A number for a discrete space, else an array of the space's shape and type. */
  step(
    action: number | NdArray,
  ): Await<
    readonly [
      observation: GymObservation,
      reward: number,
      terminated: boolean,
      truncated: boolean,
      info: GymInfo,
    ]
  >;
}

/**
 * When the worlds of a vectorized environment begin again.
 *
 * | mode | at the end of a world's episode |
 * | --- | --- |
 * | `disabled` | nothing: `reset({options: {reset_mask}})` begins again where the mask says so, before the next step |
 * | `next-step` | its next step ignores the action and begins again |
 * | `same-step` | it has begun again; `info.final_obs[i]` is what was seen at the end, `info.final_info` what was said |
 */
export type AutoresetMode = "disabled" | "next-step" | "same-step";

/** A value of each world: a list, or an array with one element each. */
export type PerEnv<T> = readonly T[] | NdArray | ArrayLike<number>;

/** An environment in the shape of Gymnasium's `VectorEnv`: several worlds, all arrays with one more dimension in front. */
export interface VectorGymEnv extends GymEnvBase {
  readonly numEnvs: number;
  readonly autoresetMode: AutoresetMode;
  /** The action of one world. */
  readonly singleActionSpace: ActionSpace;
  reset(options?: GymResetOptions): Await<readonly [observations: GymObservation, info: GymInfo]>;
  /** @param actions `[n]` integers for a discrete space, else worlds × the space's shape. */
  step(
    actions: NdArray,
  ): Await<
    readonly [
      observations: GymObservation,
      rewards: PerEnv<number>,
      terminated: PerEnv<boolean>,
      truncated: PerEnv<boolean>,
      info: GymInfo,
    ]
  >;
}
