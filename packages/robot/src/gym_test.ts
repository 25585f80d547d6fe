import assert from "node:assert/strict";
import { test } from "vitest";
import { RawAgent, serve } from "./_testing.ts";
import { gym } from "./gym.ts";
import type { GymOptions } from "./gym.ts";
import type {
  ActionSpace,
  AutoresetMode,
  GymEnv,
  GymObservation,
  GymResetOptions,
  VectorGymEnv,
} from "./gym_env.ts";
import { NdArray } from "./nd_array.ts";
import { RobotClient } from "./robot_client.ts";
import type { RobotContract } from "./robot_contract.ts";

/** A walk on a line: one step to the right or left; 3 is the goal, -3 the end. It counts what is done to it. */
class Walk implements GymEnv {
  readonly actionSpace: ActionSpace;
  readonly metadata = { renderFps: 25 };
  at = 0;
  steps = 0;
  readonly resets: (GymResetOptions | undefined)[] = [];
  readonly actions: (number | NdArray)[] = [];
  saysSuccess = true;
  taskDescription: string | undefined;
  limit = Number.POSITIVE_INFINITY;

  constructor(actionSpace: ActionSpace = { type: "discrete", n: 2 }) {
    this.actionSpace = actionSpace;
  }

  reset(options?: GymResetOptions): readonly [GymObservation, Record<string, unknown>] {
    this.resets.push(options);
    this.at = options?.seed ?? 0;
    this.steps = 0;
    return [this.see(), {}];
  }

  step(
    action: number | NdArray,
  ): readonly [GymObservation, number, boolean, boolean, Record<string, unknown>] {
    if (Math.abs(this.at) >= 3) throw new Error("a step after the end");
    this.actions.push(action);
    this.at += (typeof action === "number" ? action : Number(action.data[0])) > 0 ? 1 : -1;
    this.steps++;
    const info = this.saysSuccess ? { is_success: this.at === 3 } : {};
    return [this.see(), -0.5, Math.abs(this.at) >= 3, this.steps >= this.limit, info];
  }

  see(): GymObservation {
    return {
      pos: { x: this.at, v: new Float64Array([this.at, 1]) },
      camera: new NdArray(new Uint8Array(2 * 2 * 3).fill(this.at & 255), [2, 2, 3]),
    };
  }
}

const contractOf = async (env: GymEnv | VectorGymEnv, options?: GymOptions): Promise<RobotContract> =>
  (await serve(gym(env, options))).capability.params["contract"] as RobotContract;

test("gym() derives the contract from what a first reset shows", async () => {
  assert.deepEqual(await contractOf(new Walk()), {
    control_rate: 25,
    features: {
      "pos/x": { role: "observation", dtype: "float32", shape: [1], names: ["x_0"] },
      "pos/v": { role: "observation", dtype: "float64", shape: [2], names: ["v_0", "v_1"] },
      camera: { role: "observation", dtype: "uint8", shape: [2, 2, 3], type: "rgb" },
      action: { role: "action", dtype: "int32", shape: [1], names: ["act_0"], limits: { n: 2, start: 0 } },
    },
  });
  const box = await contractOf(new Walk({ type: "box", shape: [2, 2], low: -1, high: 1 }), {
    controlRate: 50,
  });
  assert.deepEqual(box.features["action"], {
    role: "action",
    dtype: "float32",
    shape: [2, 2],
    names: ["act_0", "act_1", "act_2", "act_3"],
    limits: { low: -1, high: 1 },
  });
  assert.equal(box.control_rate, 50);
  const own: RobotContract = { features: { action: { role: "action", shape: [1] } } };
  const env = new Walk();
  assert.deepEqual(await contractOf(env, { contract: own }), own);
  assert.deepEqual(env.resets, []);
});

test("images whose channels come first are refused, unless a contract says that they are none", async () => {
  const env = new Walk();
  env.see = () => new NdArray(new Uint8Array(3 * 8 * 8), [3, 8, 8]);
  await assert.rejects(
    contractOf(env),
    /'obs' as an image must be height, width, channels \(transpose it.*\[3, 8, 8\]/,
  );
  await contractOf(env, {
    contract: { features: { obs: { role: "observation" }, action: { role: "action", shape: [1] } } },
  });
  env.see = () => new NdArray(new Uint8Array(64), [8, 8, 1]);
  assert.equal((await contractOf(env)).features["obs"]!.type, "gray");
});

test("a discrete action reaches the environment as a number, and the score is whether it says success", async () => {
  const env = new Walk();
  const { endpoint, capability } = await serve(gym(env));
  const { prompt } = await endpoint.reset({ seed: 1, level: "hard" });
  assert.equal(prompt, 'level="hard", seed=1');
  assert.deepEqual(env.resets.at(-1), { seed: 1, options: { level: "hard" } });
  await using client = await RobotClient.connect(capability);
  const first = await client.observation();
  assert.deepEqual(first.data["pos/x"], new NdArray(Float32Array.of(1)));
  await client.act([1]);
  const { reward } = await client.observation();
  assert.equal(reward, -0.5);
  await client.act([1]);
  const { terminated, data } = await client.observation();
  assert.deepEqual([terminated, data["pos/x"]!.toArray(), env.actions], [true, [3], [1, 1]]);
  assert.deepEqual(await endpoint.result(), { score: 1, success: true, total_reward: -1 });
});

test("truncation ends an episode; without a word on success the score is the sum of the rewards", async () => {
  const env = new Walk({ type: "box", shape: [1] });
  env.saysSuccess = false;
  env.limit = 2;
  env.taskDescription = "walk";
  const { endpoint, capability } = await serve(gym(env));
  assert.equal((await endpoint.reset()).prompt, "walk");
  await using client = await RobotClient.connect(capability);
  const { steps, terminated } = await client.run(() => [0.5]);
  assert.deepEqual([steps, terminated], [2, true]);
  assert.deepEqual(env.actions[0], new NdArray(Float32Array.of(0.5), [1]));
  assert.deepEqual(await endpoint.result(), { score: -1, success: null, total_reward: -1 });
});

test("a choice that is not there concerns the agent that made it, and does not reach the environment", async () => {
  const env = new Walk({ type: "discrete", n: 2, start: 5 });
  const { endpoint, url } = await serve(gym(env));
  await endpoint.reset();
  for (const choice of [4, 7, 5.5]) {
    const agent = await RawAgent.claim(url, null);
    agent.act(choice);
    assert.match(await agent.text(), /one of the choices 5 to 6: current value is/);
    await agent.closed;
  }
  assert.deepEqual(env.actions, []);
  const agent = await RawAgent.claim(url, null);
  agent.act(6);
  await agent.observation();
  assert.deepEqual(env.actions, [6]);
});

test("multi-discrete actions and boxes of integers have the type of their space", async () => {
  const env = new Walk({ type: "multi-discrete", nvec: [2, 3] });
  const { endpoint, url } = await serve(gym(env));
  await endpoint.reset();
  const agent = await RawAgent.claim(url, null);
  agent.act(1, 2);
  await agent.observation();
  assert.deepEqual(env.actions, [new NdArray(Int32Array.of(1, 2))]);
  agent.act(1, 3);
  assert.match(await agent.text(), /number 1 must be one of the choices 0 to 2/);
  const box = new Walk({ type: "box", shape: [1], dtype: "uint8" });
  const other = await serve(gym(box));
  await other.endpoint.reset();
  const painter = await RawAgent.claim(other.url, null);
  painter.act(200);
  await painter.observation();
  assert.deepEqual(box.actions, [new NdArray(Uint8Array.of(200))]);
});

test("a seed that is no integer, and spaces that are none, are refused by name", async () => {
  const { endpoint } = await serve(gym(new Walk()));
  await assert.rejects(endpoint.reset({ seed: "x" }), /'seed' must be an integer: current value is "x"/);
  const refuses = (space: unknown): void =>
    assert.throws(() => gym(new Walk(space as ActionSpace)), TypeError);
  refuses({ type: "text" });
  refuses({ type: "box", shape: [2], dtype: "complex64" });
  refuses({ type: "box", shape: [0] });
  refuses({ type: "discrete", n: 0 });
  refuses({ type: "multi-discrete", nvec: [] });
});

/** Three walks at once, as Gymnasium's vector environments do it in each mode. */
class Walks implements VectorGymEnv {
  readonly numEnvs = 3;
  readonly singleActionSpace: ActionSpace = { type: "discrete", n: 2 };
  readonly autoresetMode: AutoresetMode;
  at = [0, 0, 0];
  #ended = [false, false, false];
  readonly resets: (GymResetOptions | undefined)[] = [];
  readonly actions: NdArray[] = [];

  constructor(autoresetMode: AutoresetMode) {
    this.autoresetMode = autoresetMode;
  }

  reset(options?: GymResetOptions): readonly [GymObservation, Record<string, unknown>] {
    this.resets.push(options);
    const mask = options?.options?.["reset_mask"] as boolean[] | undefined;
    this.at = this.at.map((at, index) => (mask && !mask[index] ? at : 100 * index));
    this.#ended = this.#ended.map((ended, index) => (mask && !mask[index] ? ended : false));
    return [{ x: this.see() }, {}];
  }

  step(actions: NdArray) {
    this.actions.push(actions);
    const final: (GymObservation | undefined)[] = [undefined, undefined, undefined];
    const terminated = this.at.map((_, index) => {
      if (this.#ended[index] && this.autoresetMode === "disabled")
        throw new Error("a step of an ended world");
      if (this.#ended[index]) {
        this.at[index] = 100 * index;
        this.#ended[index] = false;
        return false;
      }
      this.at[index]! += Number(actions.data[index]) > 0 ? 1 : -1;
      const isOver = this.at[index] === 100 * index + 2 + index;
      if (isOver && this.autoresetMode === "same-step") {
        final[index] = { x: Float32Array.of(this.at[index]!) };
        this.at[index] = 100 * index;
      } else this.#ended[index] = isOver;
      return isOver;
    });
    const info = {
      success: [true, false, true],
      _success: terminated,
      ...(terminated.includes(true) ? { final_obs: final } : {}),
    };
    return [{ x: this.see() }, Float64Array.of(1, 1, 1), terminated, [false, false, false], info] as const;
  }

  see(): NdArray {
    return new NdArray(Float32Array.from(this.at), [3, 1]);
  }
}

test.each<AutoresetMode>(["disabled", "next-step", "same-step"])(
  "in the mode %s each agent sees the end of its own episode, and its neighbours go on",
  async (mode) => {
    const env = new Walks(mode);
    const { endpoint, capability } = await serve(gym(env), { gatherTimeout: 1_000 });
    const play = async (): Promise<unknown> => {
      const { token } = await endpoint.reset({ seed: 4 });
      await using client = await RobotClient.connect(capability, { token });
      const { steps, observation } = await client.run(() => [1]);
      return { steps, last: observation.data["x"]!.toArray(), ...(await endpoint.result(token)) };
    };
    const results = (await Promise.all([play(), play(), play()])) as { steps: number }[];
    assert.deepEqual(
      results.sort((a, b) => a.steps - b.steps),
      [
        { steps: 2, last: [2], score: 1, success: true, total_reward: 2 },
        { steps: 3, last: [103], score: 0, success: false, total_reward: 3 },
        { steps: 4, last: [204], score: 1, success: true, total_reward: 4 },
      ],
    );
    assert.deepEqual(env.actions[0], new NdArray(Int32Array.of(1, 1, 1)));
    const masks = env.resets.map((options) => options?.options?.["reset_mask"]).filter(Boolean);
    assert.deepEqual(
      masks,
      mode === "disabled"
        ? [
            [true, false, false],
            [false, true, false],
          ]
        : [],
    );
    assert.deepEqual(await play(), { steps: 2, last: [2], score: 1, success: true, total_reward: 2 });
  },
);

test("a vectorized environment has to state its mode, its worlds, and in same-step the end", async () => {
  assert.throws(
    () => gym(new Walks("sometimes" as AutoresetMode)),
    /'autoresetMode' must be disabled, next-step, same-step: current value is "sometimes"/,
  );
  const unbatched = new Walks("disabled");
  unbatched.see = () => new NdArray(Float32Array.of(1, 2));
  await assert.rejects(
    contractOf(unbatched),
    /'x' as its first dimension must be the 3 worlds: current value is \[2\]/,
  );
  const silent = new Walks("same-step");
  const step = silent.step.bind(silent);
  silent.step = (actions) => {
    const [obs, rewards, terminated, truncated] = step(actions);
    return [obs, rewards, terminated, truncated, {} as never] as const;
  };
  const { endpoint, url } = await serve(gym(silent));
  await endpoint.reset();
  const agent = await RawAgent.claim(url, null);
  agent.act(1);
  await agent.observation();
  agent.act(1);
  assert.match(await agent.text(), /must say it in info\.final_obs: current value is undefined/);
});

test("vectors as wide as there are worlds are not cut, and worlds without dimensions become vectors", async () => {
  const env = new Walks("disabled");
  env.see = () => new NdArray(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9), [3, 3]);
  assert.deepEqual((await contractOf(env)).features["x"]!.shape, [3]);
  env.see = () => new NdArray(Float32Array.of(1, 2, 3));
  assert.deepEqual((await contractOf(env)).features["x"]!.shape, [1]);
});
