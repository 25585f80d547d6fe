import { GymBridge } from "./_gym_bridge.ts";
import { VectorGymBridge } from "./_vector_gym_bridge.ts";
import type { GymEnv, VectorGymEnv } from "./gym_env.ts";
import type { RobotBridge } from "./robot_bridge.ts";
import type { RobotContract } from "./robot_contract.ts";

/** Options of {@linkcode gym}. */
export interface GymOptions {
  /**
   * What the robot looks like.
   *
   * @default derived from what a first reset shows: `rgb` and `gray` images, vectors with numbered names
   */
  readonly contract?: RobotContract | undefined;
  /**
   * Actions each second, for a contract that is derived.
   *
   * @default the environment's `metadata.renderFps`, else 10
   */
  readonly controlRate?: number | undefined;
}

/**
 * Makes a bridge of an environment in the shape of Gymnasium: one world, or several that are vectorized.
 *
 * Of a task's arguments, `seed` is the seed and the others are options of the reset. An episode is over when its world is
 * terminated or truncated; what its agent sees last is the end of it, in every autoreset mode. The score is whether the task was
 * done if the environment says so (`success`, `is_success` or `task_success` in `info`), else the sum of the rewards.
 *
 * @param env The environment.
 * @param options Its contract.
 * @throws {TypeError} If a vectorized environment does not state its autoreset mode, or the action space is unknown.
 *
 * @example
 * ```ts
 * import { gym, RobotEndpoint } from "@envport/robot";
 * import type { GymEnv } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * let at = 0;
 * const walk: GymEnv = {
 *   actionSpace: { type: "discrete", n: 2 },
 *   reset: () => [Float32Array.of((at = 0)), {}],
 *   step: (action) => [Float32Array.of((at += action === 1 ? 1 : -1)), 0, at === 3, false, { success: at === 3 }],
 * };
 * await using endpoint = new RobotEndpoint(gym(walk));
 * const [capability] = await endpoint.start();
 * assert.deepEqual(Object.keys(capability!.params["contract"] as object), ["control_rate", "features"]);
 * ```
 */
export function gym(env: GymEnv | VectorGymEnv, options: GymOptions = {}): RobotBridge {
  return env.numEnvs === undefined ? new GymBridge(env, options) : new VectorGymBridge(env, options);
}
