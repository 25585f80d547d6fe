import type { PublishedCapability } from "@envport/wire";
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "vitest";
import { Counting, isError, RawAgent, serve } from "./_testing.ts";
import { RobotClient } from "./robot_client.ts";
import { RobotEndpoint } from "./robot_endpoint.ts";

/** A capability with a private socket, as something that `ws` can dial. */
function direct(capability: PublishedCapability): PublishedCapability {
  const { path } = capability.dial as { path: string };
  return { ...capability, url: `ws+unix:${path}:/` };
}

test("without host and port it listens on a socket that only this user reaches", async () => {
  await using endpoint = new RobotEndpoint(new Counting({ end: 2 }), { name: "arm" });
  const [capability] = await endpoint.start();
  const { path } = capability!.dial as { path: string };
  assert.deepEqual([capability!.name, capability!.url], ["arm", "ws://127.0.0.1:9091"]);
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
  const { token, frame } = await endpoint.reset({ seed: 3 });
  assert.deepEqual(frame, { prompt: "count to 2", bindings: { arm: { token } } });
  const client = await RobotClient.connect(direct(capability!), { token });
  assert.equal((await client.run(() => [0, 0])).steps, 2);
  await client.close();
  await endpoint.stop();
  assert.ok(!existsSync(dirname(path)));
});

test("four slots and four agents at once, each with its own token and grade", async () => {
  const bridge = new Counting({ numEnvs: 4 });
  bridge.end = [1, 2, 3, 4];
  const { endpoint, capability } = await serve(bridge, { gatherTimeout: 5_000 });
  const play = async (): Promise<[number, number]> => {
    const { token } = await endpoint.reset({ seed: 1 });
    await using client = await RobotClient.connect(capability, { token });
    const { steps } = await client.run(() => [1, 1]);
    return [steps, (await endpoint.result(token)).total_reward];
  };
  const results = await Promise.all([play(), play(), play(), play()]);
  assert.deepEqual(results.sort(), [
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
  ]);
  assert.equal(bridge.resets.length, 1);
});

test("claims of a batch share their arguments; another one is refused by both", async () => {
  const { endpoint } = await serve(new Counting({ numEnvs: 2 }));
  const { token } = await endpoint.reset({ seed: 1 });
  await assert.rejects(
    endpoint.reset({ seed: 2 }),
    /slots share one batch reset \(\{"seed":1\}\).*\{"seed":2\}/,
  );
  await endpoint.result(token);
  await assert.rejects(endpoint.result(token), /unknown episode token/);
  await endpoint.reset({ seed: 2 });
});

test("a claim with other arguments waits while all slots are taken, and begins the next batch", async () => {
  const { endpoint } = await serve(new Counting({ numEnvs: 1 }));
  const { token } = await endpoint.reset({ seed: 1 });
  const next = endpoint.reset({ seed: 2 });
  await endpoint.result(token);
  assert.notEqual((await next).token, token);
});

test("a reset that fails is told, and takes no slot", async () => {
  const { endpoint } = await serve(new Counting());
  await assert.rejects(endpoint.reset({ broken: true }), /no such world/);
  await endpoint.reset();
});

test("reset() waits while all slots are taken, until a signal gives up; what comes too late is given back", async () => {
  const bridge = new Counting();
  const { endpoint } = await serve(bridge);
  const { token } = await endpoint.reset();
  const giving = new AbortController();
  const given = endpoint.reset({}, { signal: giving.signal });
  const kept = endpoint.reset();
  await sleep(80);
  giving.abort(new Error("enough"));
  await assert.rejects(given, /enough/);
  await endpoint.result(token);
  const second = await kept;
  await endpoint.result(second.token);
  bridge.reset = () => new Promise((resolve) => setTimeout(() => resolve("slow"), 50)) as unknown as string;
  const aborted = new AbortController();
  const late = endpoint.reset({}, { signal: aborted.signal });
  aborted.abort(new Error("too slow"));
  await assert.rejects(late, /too slow/);
  await endpoint.reset();
});

test("release() gives the slots of a session up, graded or not; the agent is sent away", async () => {
  const { endpoint, url } = await serve(new Counting({ numEnvs: 2 }));
  const one = await endpoint.reset({}, { session: "a" });
  const other = await endpoint.reset({}, { session: "b" });
  const agent = await RawAgent.claim(url, one.token);
  await endpoint.release("a");
  assert.equal((await agent.closed).code, 1000);
  await endpoint.result(other.token);
  await Promise.all([endpoint.release("b"), endpoint.release("b"), endpoint.release("nobody")]);
  await endpoint.reset();
});

test("it can be stopped in the middle, told so, and started again", async () => {
  const bridge = new Counting();
  const { endpoint, url } = await serve(bridge);
  const { closed } = endpoint;
  const { token } = await endpoint.reset();
  const agent = await RawAgent.claim(url, token);
  await Promise.all([endpoint.stop(), endpoint.stop()]);
  assert.equal((await agent.closed).code, 1001);
  assert.equal(await closed, undefined);
  assert.equal(bridge.closed, 1);
  await assert.rejects(endpoint.reset(), isError("closed", /must be started/));
  const [again] = await endpoint.start();
  assert.notEqual(again, undefined);
  await endpoint.reset();
});

test("a step that never ends does not keep the endpoint from stopping", async () => {
  const logged: string[] = [];
  const bridge = new Counting();
  bridge.gate = new Promise(() => undefined);
  const { endpoint, url } = await serve(bridge, { log: (message) => logged.push(message) });
  const agent = await RawAgent.claim(url, (await endpoint.reset()).token);
  agent.act(1, 1);
  await sleep(20);
  await endpoint.stop();
  assert.equal((await agent.closed).code, 1001);
  assert.deepEqual(logged, ["the simulator is still busy after 2000 ms, and was left"]);
});

test("an address that is taken, and a contract without an action, fail the start", async () => {
  const { url } = await serve(new Counting());
  await using taken = new RobotEndpoint(new Counting(), { port: Number(new URL(url).port) });
  await assert.rejects(taken.start(), isError("address-in-use"));
  const mute = new Counting();
  mute.contract = () => ({ features: {} });
  await using endpoint = new RobotEndpoint(mute);
  await assert.rejects(endpoint.start(), /must have an action with a shape or names/);
  assert.equal(mute.closed, 1);
  assert.throws(() => RobotEndpoint.spawn([]), TypeError);
});
