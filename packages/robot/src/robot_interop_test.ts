// The Python peer, unpatched: its codec, its client and endpoint with our bridge, ours with its bridge and with environments of
// Gymnasium.
import fc from "fast-check";
import assert from "node:assert/strict";
import type { Readable } from "node:stream";
import { onTestFinished, test } from "vitest";
import { tree } from "./_testing_trees.ts";
import { Counting, isError, until } from "./_testing.ts";
import { peerProgram, peerPython, peerReport, startPeer } from "./_testing_peer.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import type { FrameValue } from "./encode.ts";
import { NdArray } from "./nd_array.ts";
import { RobotClient } from "./robot_client.ts";
import { RobotEndpoint } from "./robot_endpoint.ts";
import type { RobotObservation } from "./robot_observation.ts";
import { serveBridge } from "./serve_bridge.ts";

const TIMEOUT = { timeout: 90_000 };
const TREES = 500;

/** Reads frames with their length in front. */
async function* frames(stream: Readable): AsyncGenerator<Buffer, void> {
  let left: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    left = Buffer.concat([left, chunk as Buffer]);
    while (left.length >= 4 && left.length >= 4 + left.readUInt32BE()) {
      const end = 4 + left.readUInt32BE();
      yield left.subarray(4, end);
      left = left.subarray(end);
    }
  }
}

test("openpi's codec and ours make the same bytes of random trees of either side", TIMEOUT, async () => {
  const peer = startPeer("peer_codec.py", String(TREES), "20260");
  let errors = "";
  peer.stderr.on("data", (chunk: Buffer) => (errors += String(chunk)));
  const send = (bytes: Uint8Array): void => {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(bytes.length);
    peer.stdin.write(Buffer.concat([head, bytes]));
  };
  const incoming = frames(peer.stdout);
  const next = async (): Promise<Buffer> => {
    const { value, done } = await incoming.next();
    if (done) throw new Error(`The peer ended: ${errors}`);
    return value;
  };
  for (let index = 0; index < TREES; index++) send(encode(decode(await next(), { exact: true })));
  const trees = fc.sample(tree, { numRuns: TREES, seed: 20_260 }) as FrameValue[];
  for (const one of trees) {
    const bytes = Buffer.from(encode(one));
    send(bytes);
    assert.deepEqual(await next(), bytes);
  }
  assert.equal(String(await next()), "0");
});

interface AgentReport {
  capability: unknown[];
  contract: boolean;
  prompts: string[];
  played: {
    seen: number[][];
    last: Record<string, { dtype: string; shape: number[]; values: number[] }>;
    reward: string;
    action: Record<string, unknown>;
    observations: string[];
    rate: number;
    contract: boolean;
    result: unknown;
  }[];
  errors: Record<string, string>;
}

test("the peer's RobotEndpoint and RobotClient drive a bridge of ours with two slots", TIMEOUT, async () => {
  const bridge = new Counting({ numEnvs: 2 });
  bridge.end = [3, 5];
  const served = await serveBridge(bridge, { program: false, log: () => undefined });
  onTestFinished(() => served.close());
  const report = await peerReport<AgentReport>("peer_robot_agent.py", String(served.port), "2");
  assert.deepEqual(report.capability, ["arm", "openpi/0", true]);
  assert.deepEqual([report.contract, report.prompts], [true, ["count to 3", "count to 3"]]);
  const [one, other] = report.played;
  assert.deepEqual(one!.seen, [
    [1, 1],
    [2, 1],
    [3, 1],
  ]);
  assert.deepEqual(other!.seen.at(-1), [5, 1]);
  assert.deepEqual(one!.last["last"], { dtype: "<f4", shape: [2], values: [1.5, 1.5] });
  assert.deepEqual([one!.reward, one!.rate, one!.contract], ["float32", 20, true]);
  assert.deepEqual([one!.action, one!.observations], [{ role: "action", shape: [2] }, ["count", "last"]]);
  assert.deepEqual(one!.result, { score: 1, success: true, total_reward: 3 });
  assert.deepEqual(other!.result, { score: 1, success: true, total_reward: 5 });
  const { errors } = report;
  assert.equal(
    errors["token"],
    "RuntimeError: robot env error on claim:\nunknown episode token: 'slot-7-no'",
  );
  assert.equal(
    errors["width"],
    "RuntimeError: robot env error:\nCannot take action as it must have 2 numbers: current value has 5",
  );
  assert.match(errors["kwargs"]!, /^RuntimeError: reset failed: slots share one batch reset/);
  assert.equal(errors["method"], "RuntimeError: nope failed: unknown method 'nope'");
  assert.match(errors["twice"]!, /^RuntimeError: result failed: unknown episode token/);
});

/** A bridge of the peer's in a process of its own. */
async function peerBridge(words: string[]) {
  const lines: string[] = [];
  const endpoint = RobotEndpoint.spawn([peerPython(), "-m", ...words], {
    connectTimeout: 60_000,
    onLine: (line) => lines.push(line),
    env: { HUD_TELEMETRY_ENABLED: "false" },
  });
  onTestFinished(() => endpoint.stop());
  const [capability] = await endpoint.start();
  return { endpoint, capability: capability!, lines };
}

const counting = (init: object): string[] => [
  "hud.environment.robot.bridge",
  `${peerProgram("peer_robot_bridge.py")}:CountingBridge`,
  "--init",
  JSON.stringify(init),
];

test("our endpoint starts the peer's RobotBridge, and our client drives it", TIMEOUT, async () => {
  const { endpoint, capability, lines } = await peerBridge(counting({ end: 4 }));
  assert.ok(lines.some((line) => line.startsWith("[env] robot listening on ws://127.0.0.1:")));
  const { prompt, token } = await endpoint.reset({ seed: 1 });
  assert.equal(prompt, "count to 4");
  await using client = await RobotClient.connect(capability);
  assert.deepEqual([client.controlRate, client.metadata["backend"]], [50, "numpy"]);
  const first = await client.observation();
  assert.deepEqual(first.data["image"], new NdArray(new Uint8Array(16 * 16 * 3).fill(1), [16, 16, 3]));
  assert.deepEqual(first.data["state"], new NdArray(Float32Array.of(1, 0)));
  await client.act([7, 8]);
  const second = await client.observation();
  assert.deepEqual([second.data["state"]!.toArray(), second.reward, second.extra], [[2, 7], 1, {}]);
  const { steps, terminated } = await runOn(client, () => [1, 1], second);
  assert.deepEqual([steps, terminated], [2, true]);
  assert.deepEqual(await endpoint.result(token), { score: 1, success: true, total_reward: 0 });
  await assert.rejects(endpoint.reset({ fail: true }), /as told/);
  await assert.rejects(
    RobotClient.connect(capability),
    isError("authentication-failed", /found 0; pass the token/),
  );
});

/** Goes on after an observation that has been read. */
async function runOn(
  client: RobotClient,
  policy: () => number[],
  observation: RobotObservation,
): Promise<{ steps: number; terminated: boolean }> {
  await client.act(policy());
  const { steps, terminated } = await client.run(policy);
  return { steps: steps + Number(observation !== undefined), terminated };
}

test(
  "a failure of the peer's bridge fails our reads with its text; four slots are driven at once",
  TIMEOUT,
  async () => {
    const { endpoint, capability } = await peerBridge(counting({ end: 3, slots: 4 }));
    const episodes = [];
    for (let slot = 0; slot < 4; slot++) episodes.push(await endpoint.reset({}, { session: `s${slot}` }));
    const play = async (token: string): Promise<number> => {
      await using client = await RobotClient.connect(capability, { token });
      return (await client.run(() => [0, 0])).steps;
    };
    assert.deepEqual(await Promise.all(episodes.map(({ token }) => play(token))), [3, 4, 5, 6]);
    for (let slot = 0; slot < 4; slot++) await endpoint.release(`s${slot}`);
    const { token } = await endpoint.reset();
    await using client = await RobotClient.connect(capability, { token });
    await client.observation();
    await client.act([666, 0]);
    const fallen = isError("connection-lost", /RuntimeError: the arm fell off/);
    await assert.rejects(client.observation(), fallen);
    await assert.rejects(client.observation(), fallen);
  },
);

const gymnasium = (target: string, ...words: string[]): string[] => [
  ...["hud.environment.robot.gym", target, ...words],
];

/** Keeps the pole up a while: pushes to where it leans. */
const balance = ({ data }: RobotObservation): number[] => {
  const [, , angle = 0, speed = 0] = data["obs"]!.toArray() as number[];
  return [angle + speed > 0 ? 1 : 0];
};

test("our client balances the pole of Gymnasium's CartPole", TIMEOUT, async () => {
  const { endpoint, capability } = await peerBridge(
    gymnasium(`${peerProgram("peer_robot_bridge.py")}:cartpole`),
  );
  const { token } = await endpoint.reset({ seed: 3 });
  await using client = await RobotClient.connect(capability, { token });
  const { steps, terminated, observation, totalReward } = await client.run(balance);
  assert.ok(terminated && steps > 100 && totalReward === steps, String(steps));
  assert.deepEqual(observation.data["obs"]!.shape, [4]);
  assert.equal((await endpoint.result(token)).total_reward, steps);
});

test("our client swings Gymnasium's Pendulum to the end of its time", TIMEOUT, async () => {
  const { endpoint, capability } = await peerBridge(
    gymnasium(`${peerProgram("peer_robot_bridge.py")}:pendulum`),
  );
  const { token } = await endpoint.reset({ seed: 3 });
  await using client = await RobotClient.connect(capability, { token });
  assert.equal(client.spaces().actionWidth, 1);
  const { steps, totalReward } = await client.run(({ data }) => [
    2 * Math.sign(Number(data["obs"]!.data[2])),
  ]);
  assert.equal(steps, 25);
  const { total_reward: total } = await endpoint.result(token);
  assert.ok(Math.abs(total - totalReward) < 1e-3 && total < 0);
});

test("four agents of ours balance four vectorized poles", TIMEOUT, async () => {
  const { endpoint, capability } = await peerBridge(gymnasium("CartPole-v1", "--num-envs", "4"));
  const episodes = [];
  for (let slot = 0; slot < 4; slot++) episodes.push(await endpoint.reset({ seed: 5 }));
  const play = async (token: string): Promise<[number, number]> => {
    await using client = await RobotClient.connect(capability, { token });
    const { steps } = await client.run(balance);
    return [steps, (await endpoint.result(token)).total_reward];
  };
  for (const [steps, total] of await Promise.all(episodes.map(({ token }) => play(token)))) {
    assert.ok(steps > 50 && total === steps, String([steps, total]));
  }
});

test("ending the endpoint ends the peer's bridge", TIMEOUT, async () => {
  const { endpoint, capability } = await peerBridge(counting({}));
  await endpoint.reset({}, { session: "s" });
  const client = await RobotClient.connect(capability);
  await client.observation();
  await endpoint.stop();
  await client.closed;
  await until(() => client.dropped === 0);
  await assert.rejects(RobotClient.connect(capability), isError("connection-lost", /ECONNREFUSED/));
});
