import type { JsonObject } from "@envport/wire";
import { checkChoices, checkSpace, holdStill, toGymActions } from "./_gym_action.ts";
import { promptOf, resetOptions } from "./_gym_bridge.ts";
import { deriveContract } from "./_gym_contract.ts";
import { each, ofEach, ofSingle, successesOf } from "./_gym_observation.ts";
import type { GymOptions } from "./gym.ts";
import type { AutoresetMode, GymInfo, GymObservation, VectorGymEnv } from "./gym_env.ts";
import type { NdArray } from "./nd_array.ts";
import type { RobotBridge, SlotObservation } from "./robot_bridge.ts";
import type { RobotContract } from "./robot_contract.ts";

const MODES: readonly AutoresetMode[] = ["disabled", "next-step", "same-step"];

/** Several worlds. */
export class VectorGymBridge implements RobotBridge {
  readonly numEnvs: number;
  readonly #env: VectorGymEnv;
  readonly #options: GymOptions;
  #now: SlotObservation[] = [];
  /** Worlds whose episode is over. What they do later is another episode, of which nobody is told. */
  #ended: boolean[] = [];
  /** Worlds that have to be told to begin again before the next step. */
  #stale: boolean[] = [];

  constructor(env: VectorGymEnv, options: GymOptions) {
    checkSpace(env.singleActionSpace);
    if (!MODES.includes(env.autoresetMode)) {
      throw new TypeError(
        `Cannot serve vectorized environment as 'autoresetMode' must be ${MODES.join(", ")}: current value is ${JSON.stringify(env.autoresetMode)}`,
      );
    }
    this.numEnvs = env.numEnvs;
    this.#env = env;
    this.#options = options;
  }

  async contract(): Promise<RobotContract> {
    const { contract, controlRate } = this.#options;
    if (contract) return contract;
    const [observations] = await this.#env.reset();
    const [sample] = ofEach(observations, this.numEnvs);
    return deriveContract(sample!, this.#env.singleActionSpace, controlRate ?? this.#env.metadata?.renderFps);
  }

  async reset(args: JsonObject): Promise<string> {
    const [observations] = await this.#env.reset(resetOptions(args));
    this.#now = ofEach(observations, this.numEnvs).map((data) => ({ data, terminated: false }));
    this.#ended = this.#now.map(() => false);
    this.#stale = this.#now.map(() => false);
    return promptOf(this.#env.taskDescription, args);
  }

  async step(actions: NdArray<Float32Array>): Promise<void> {
    if (this.#stale.includes(true)) await this.#env.reset({ options: { reset_mask: [...this.#stale] } });
    const all = toGymActions(this.#env.singleActionSpace, actions);
    const [observations, rewards, terminated, truncated, info] = await this.#env.step(all);
    const seen = ofEach(observations, this.numEnvs);
    const over = seen.map((_, index) => Boolean(each(terminated, index)) || Boolean(each(truncated, index)));
    if (this.#env.autoresetMode === "disabled") this.#stale = over;
    this.#now = seen.map((data, index) => {
      // The last thing that was seen stays, for an agent that comes back.
      if (this.#ended[index]) return this.#now[index]!;
      this.#ended[index] = over[index]!;
      return {
        data: over[index] ? this.#finalOf(data, info, index) : data,
        reward: Number(each(rewards, index)),
        terminated: over[index]!,
        success: over[index] ? successesOf(info, index) : undefined,
      };
    });
  }

  observe(): readonly SlotObservation[] {
    return this.#now;
  }

  holdAction(): Float32Array {
    return holdStill(this.#env.singleActionSpace);
  }

  checkAction(action: Float32Array): void {
    checkChoices(this.#env.singleActionSpace, action);
  }

  async close(): Promise<void> {
    await this.#env.close?.();
  }

  /** In the mode `same-step` the observation is the first of the next episode already. */
  #finalOf(data: Record<string, NdArray>, info: GymInfo, index: number): Record<string, NdArray> {
    if (this.#env.autoresetMode !== "same-step") return data;
    const { final_obs: final } = info as { final_obs?: unknown };
    if (Array.isArray(final) && final[index] !== undefined && final[index] !== null) {
      return ofSingle(final[index] as GymObservation);
    }
    if (final !== undefined && final !== null && !Array.isArray(final)) {
      return ofEach(final as GymObservation, this.numEnvs)[index]!;
    }
    throw new TypeError(
      `Cannot tell the end of an episode as an environment in the mode same-step must say it in info.final_obs: current value is ${typeof final}`,
    );
  }
}
