import type { JsonObject } from "@envport/wire";
import { checkChoices, checkSpace, holdStill, toGymAction } from "./_gym_action.ts";
import { deriveContract } from "./_gym_contract.ts";
import { ofSingle, successOf } from "./_gym_observation.ts";
import type { GymOptions } from "./gym.ts";
import type { GymEnv, GymResetOptions } from "./gym_env.ts";
import type { NdArray } from "./nd_array.ts";
import type { RobotBridge, SlotObservation } from "./robot_bridge.ts";
import type { RobotContract } from "./robot_contract.ts";

/** One world. */
export class GymBridge implements RobotBridge {
  readonly #env: GymEnv;
  readonly #options: GymOptions;
  #now: SlotObservation | undefined;

  constructor(env: GymEnv, options: GymOptions) {
    checkSpace(env.actionSpace);
    this.#env = env;
    this.#options = options;
  }

  async contract(): Promise<RobotContract> {
    const { contract, controlRate } = this.#options;
    if (contract) return contract;
    const [observation] = await this.#env.reset();
    const rate = controlRate ?? this.#env.metadata?.renderFps;
    return deriveContract(ofSingle(observation), this.#env.actionSpace, rate);
  }

  async reset(args: JsonObject): Promise<string> {
    const [observation] = await this.#env.reset(resetOptions(args));
    this.#now = { data: ofSingle(observation), terminated: false };
    return promptOf(this.#env.taskDescription, args);
  }

  async step(actions: NdArray<Float32Array>): Promise<void> {
    const action = toGymAction(this.#env.actionSpace, actions.data);
    const [observation, reward, terminated, truncated, info] = await this.#env.step(action);
    this.#now = {
      data: ofSingle(observation),
      reward,
      terminated: terminated || truncated,
      success: successOf(info),
    };
  }

  observe(): readonly SlotObservation[] {
    return [this.#now!];
  }

  holdAction(): Float32Array {
    return holdStill(this.#env.actionSpace);
  }

  checkAction(action: Float32Array): void {
    checkChoices(this.#env.actionSpace, action);
  }

  async close(): Promise<void> {
    await this.#env.close?.();
  }
}

/**
 * A task's arguments as an environment takes them.
 *
 * @throws {TypeError} If the seed is no integer.
 */
export function resetOptions({ seed, ...options }: JsonObject): GymResetOptions {
  if (seed !== undefined && seed !== null && !Number.isSafeInteger(seed)) {
    throw new TypeError(
      `Cannot reset environment as 'seed' must be an integer: current value is ${JSON.stringify(seed)}`,
    );
  }
  return {
    ...(typeof seed === "number" ? { seed } : {}),
    ...(Object.keys(options).length > 0 ? { options } : {}),
  };
}

/** What the environment asks for, else the arguments. */
export function promptOf(description: string | undefined, args: JsonObject): string {
  if (description) return description;
  const words = Object.entries(args).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return words.sort().join(", ") || "run the task";
}
