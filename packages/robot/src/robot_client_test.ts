import type { Capability } from "@envport/wire";
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { Counting, isError, listen, serve, until } from "./_testing.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import type { FrameValue } from "./encode.ts";
import { NdArray } from "./nd_array.ts";
import { NumpyScalar } from "./numpy_scalar.ts";
import { RobotClient } from "./robot_client.ts";
import type { RobotConnectOptions } from "./robot_client_options.ts";

const CONTRACT = { features: { state: { role: "observation" }, action: { role: "action", shape: [2] } } };

/** A bridge that says what a test wants. */
async function scripted(
  script: (ws: WebSocket, next: () => Promise<FrameValue>) => Promise<void> | void,
): Promise<{ capability: Capability; extensions: string[] }> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: true });
  onTestFinished(() => {
    for (const ws of server.clients) ws.terminate();
    server.close();
  });
  await once(server, "listening");
  const extensions: string[] = [];
  server.on("connection", (ws, request) => {
    extensions.push(request.headers["sec-websocket-extensions"] ?? "none");
    const next = async (): Promise<FrameValue> => {
      const [data] = await once(ws, "message");
      return decode(data as Buffer);
    };
    void script(ws, next);
  });
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    capability: { name: "robot", protocol: "openpi/0", url, params: { contract: CONTRACT } },
    extensions,
  };
}

const state = (value: number, terminated = false): Uint8Array =>
  encode({ state: new NdArray(Float32Array.of(value)), terminated });

/** A client of a bridge that has slots, after its first observation; and the bridge's side of it. */
async function connected(
  options: RobotConnectOptions = {},
): Promise<{ client: RobotClient; ws: WebSocket; next: () => Promise<FrameValue> }> {
  let server: { ws: WebSocket; next: () => Promise<FrameValue> } | undefined;
  const { capability } = await scripted(async (ws, next) => {
    server = { ws, next };
    ws.send(encode({ claim_required: true }));
    await next();
    ws.send(state(0));
  });
  const client = await RobotClient.connect(capability, options);
  onTestFinished(() => client.close());
  return { client, ...server! };
}

test("RobotClient claims its slot, sees, acts and goes on until the end", async () => {
  const bridge = new Counting({ end: 3 });
  const { endpoint, capability } = await serve(bridge);
  const { token, prompt } = await endpoint.reset({ seed: 7 });
  assert.equal(prompt, "count to 3");
  await using client = await RobotClient.connect(capability, { token });
  const { action, actionWidth, observations } = client.spaces();
  assert.deepEqual([action?.name, actionWidth, Object.keys(observations)], ["action", 2, ["count", "last"]]);
  assert.deepEqual([client.controlRate, client.contract.robot_type], [20, "counter"]);
  assert.deepEqual(client.metadata, { claim_required: true });
  const first = await client.observation();
  assert.deepEqual(first, {
    data: { count: new NdArray(Float32Array.of(0)), last: new NdArray(new Float32Array(2)) },
    terminated: false,
    reward: undefined,
    meta: undefined,
    extra: {},
  });
  await client.act([1, 2]);
  const second = await client.observation();
  assert.equal(second.reward, 1);
  assert.deepEqual(second.data["last"]!.toArray(), [1, 2]);
  await client.act(new NdArray(Float32Array.of(3, 4)));
  await client.observation();
  await client.act([0, 0]);
  assert.equal((await client.observation()).terminated, true);
  assert.deepEqual(await endpoint.result(token), { score: 1, success: true, total_reward: 3 });
});

test("run() lets a policy act until the end, one row of a chunk for each observation, and drops the rest", async () => {
  const bridge = new Counting({ end: 5 });
  const { endpoint, capability } = await serve(bridge);
  await endpoint.reset();
  await using client = await RobotClient.connect(capability);
  const seen: unknown[] = [];
  const result = await client.run(({ data }) => {
    const count = data["count"]!.data[0]!;
    seen.push(count);
    return [0, 1, 2].map((row) => [Number(count), row]);
  });
  assert.deepEqual(seen, [0, 3]);
  assert.deepEqual([result.steps, result.terminated, result.totalReward], [5, true, 5]);
  assert.deepEqual(
    bridge.steps.map(({ rows }) => rows[0]),
    [
      [0, 0],
      [0, 1],
      [0, 2],
      [3, 0],
      [3, 1],
    ],
  );
});

test("run() stops after maxSteps, or when the policy has had enough; chunkSize cuts chunks", async () => {
  const bridge = new Counting();
  const { endpoint, capability } = await serve(bridge);
  await endpoint.reset();
  await using client = await RobotClient.connect(capability);
  const chunk = new NdArray(Float32Array.of(1, 1, 2, 2, 3, 3), [3, 2]);
  const { steps, terminated } = await client.run(() => chunk, { maxSteps: 3, chunkSize: 2 });
  assert.deepEqual([steps, terminated], [3, false]);
  assert.deepEqual(
    bridge.steps.map(({ rows }) => rows[0]![0]),
    [1, 2, 1],
  );
  await client.act([0, 0]);
  let calls = 0;
  assert.equal((await client.run(() => (calls++ ? undefined : [4, 4]))).steps, 1);
});

test("actions are checked before they are sent: width, finite numbers, chunks with equal rows", async () => {
  const { client } = await connected();
  await assert.rejects(client.act([1]), /must have 2 numbers: current value has 1/);
  await assert.rejects(
    client.act([1, Number.NaN]),
    (error) => error instanceof RangeError && /finite/.test(error.message),
  );
  await assert.rejects(client.act([1, 1e300]), RangeError);
  await assert.rejects(client.act(["1", "2"] as unknown as number[]), TypeError);
  await assert.rejects(client.sendChunk([[1, 2], [1]]), RangeError);
  await assert.rejects(client.sendChunk([]), TypeError);
  await assert.rejects(client.sendChunk(new NdArray(new Float32Array(4))), /must have two dimensions/);
});

test("sendChunk() says what it is based on", async () => {
  const { client, next } = await connected();
  const received = next();
  await client.sendChunk(
    [
      [1, 2],
      [3, 4],
    ],
    { obsIndex: 7, delayUsed: 2 },
  );
  assert.deepEqual(await received, {
    actions: new NdArray(Float32Array.of(1, 2, 3, 4), [2, 2]),
    obs_index: 7,
    delay_used: 2,
  });
});

test("of observations that nobody has read the newest counts, whatever is in them", async () => {
  const { client, ws } = await connected();
  for (const value of [1, 1, 2]) ws.send(state(value));
  await until(() => client.dropped === 3);
  assert.deepEqual((await client.observation()).data["state"]!.toArray(), [2]);
  const waiting = client.observation();
  ws.send(state(3));
  assert.deepEqual((await waiting).data["state"]!.toArray(), [3]);
});

test("reward and meta are siblings, whatever form a peer gives them", async () => {
  const { client, ws } = await connected();
  await client.observation();
  const meta = { obs_index: 4, unexecuted_chunk: new NdArray(new Float32Array(6), [3, 2]) };
  ws.send(
    encode({ one: new NumpyScalar(2, "<f4"), reward: new NumpyScalar(1.5, "<f4"), meta, prompt: "go" }),
  );
  const observation = await client.observation();
  assert.deepEqual(observation, {
    data: { one: new NdArray(Float32Array.of(2), []) },
    terminated: false,
    reward: 1.5,
    meta,
    extra: { prompt: "go" },
  });
});

test("a server that goes away fails the pending and every later read, with code and reason", async () => {
  const { client, ws } = await connected();
  await client.observation();
  const pending = client.observation();
  ws.close(1011, "out of memory");
  const lost = isError("connection-lost", /1011 out of memory/);
  await assert.rejects(pending, lost);
  await assert.rejects(client.observation(), lost);
  await assert.rejects(client.act([1, 2]), lost);
  assert.ok(lost(await client.closed));
});

test("an error frame fails the pending and every later read, with its text", async () => {
  const { client, ws } = await connected();
  await client.observation();
  const pending = client.observation();
  ws.send("Traceback (most recent call last):\nValueError: joint 3 is on fire");
  const failed = isError("connection-lost", /joint 3 is on fire/);
  await assert.rejects(pending, failed);
  await assert.rejects(client.observation(), failed);
  await assert.rejects(
    client.run(() => [0, 0]),
    failed,
  );
});

test("an error replaces an observation that nobody has read, but not the end of the episode", async () => {
  const one = await connected();
  one.ws.send(state(1));
  one.ws.send("broken");
  await one.client.closed;
  await assert.rejects(one.client.observation(), /broken/);
  const other = await connected();
  other.ws.send(state(1, true));
  other.ws.close(1000);
  await other.client.closed;
  assert.equal((await other.client.observation()).terminated, true);
  await assert.rejects(other.client.observation(), isError("connection-lost"));
});

test("a frame that is no observation is the end, too", async () => {
  const { client, ws } = await connected();
  await client.observation();
  ws.send(Buffer.from([0xc1]));
  await assert.rejects(client.observation(), isError("invalid-value", /0xc1/));
  await assert.rejects(client.observation(), isError("invalid-value"));
});

test("metadata, the first observation and the handshake have to come in time", async () => {
  const silent = await scripted(() => undefined);
  await assert.rejects(
    RobotClient.connect(silent.capability, { timeout: 400 }),
    isError("timeout", /its metadata .* 400 ms/),
  );
  const idle = await scripted((ws) => ws.send(encode({ claim_required: true })));
  await assert.rejects(
    RobotClient.connect(idle.capability, { timeout: 400 }),
    isError("timeout", /the first observation must arrive within 400 ms/),
  );
  const port = await listen(() => undefined);
  const capability = { ...idle.capability, url: `ws://127.0.0.1:${port}` };
  await assert.rejects(RobotClient.connect(capability, { timeout: 400 }));
});

test("a text before the first observation is a refusal of the claim", async () => {
  const { capability } = await scripted(async (ws, next) => {
    ws.send(encode({ claim_required: true }));
    await next();
    ws.send("unknown episode token: 'x'");
  });
  await assert.rejects(
    RobotClient.connect(capability, { token: "x" }),
    isError("authentication-failed", /unknown episode token/),
  );
});

test("a server without slots is not claimed, and needs no first observation", async () => {
  const frames: FrameValue[] = [];
  const { capability } = await scripted(async (ws, next) => {
    ws.send(encode({ model: "pi0" }));
    frames.push(await next());
    ws.send(state(5));
  });
  await using client = await RobotClient.connect(capability);
  assert.deepEqual(client.metadata, { model: "pi0" });
  await client.act([1, 2]);
  assert.deepEqual((await client.observation()).data["state"]!.toArray(), [5]);
  assert.deepEqual(frames, [{ actions: new NdArray(Float32Array.of(1, 2)) }]);
});

test("the client never offers compression, also not to a server that would take it", async () => {
  const { capability, extensions } = await scripted((ws) => ws.send(encode({})));
  await using client = await RobotClient.connect(capability);
  assert.deepEqual([extensions, client.contract.features["action"]?.role], [["none"], "action"]);
});

test("a frame over maxFrameBytes ends the connection, and the error names the limit", async () => {
  const { client, ws } = await connected({ maxFrameBytes: 1_000 });
  await client.observation();
  ws.send(encode({ state: new NdArray(new Uint8Array(2_000)) }));
  await assert.rejects(
    client.observation(),
    isError("invalid-value", /at most 1000 bytes \('maxFrameBytes'\)/),
  );
});

test("signals give up a connection, a read and a run; the connection lives on after a read", async () => {
  const { client, ws } = await connected();
  await client.observation();
  const reading = new AbortController();
  const read = client.observation({ signal: reading.signal });
  reading.abort(new Error("enough"));
  await assert.rejects(read, /enough/);
  ws.send(state(1));
  assert.deepEqual((await client.observation()).data["state"]!.toArray(), [1]);
  const running = new AbortController();
  const run = client.run(() => [0, 0], { signal: running.signal });
  running.abort(new Error("stop"));
  await assert.rejects(run, /stop/);
  await assert.rejects(
    RobotClient.connect(
      { name: "r", protocol: "openpi/0", url: "ws://127.0.0.1:1", params: {} },
      { signal: running.signal },
    ),
    /stop/,
  );
});

test("close() is graceful and idempotent, and ends what waits", async () => {
  const { client, ws } = await connected();
  await client.observation();
  const pending = client.observation();
  const closed = once(ws, "close");
  await Promise.all([client.close(), client.close(), assert.rejects(pending, isError("closed"))]);
  assert.equal((await closed)[0], 1000);
  await assert.rejects(client.act([1, 2]), isError("closed"));
  await assert.rejects(client.observation(), isError("closed"));
});

test("a client whose connection was lost connects again with its token, and goes on", async () => {
  const bridge = new Counting();
  const { endpoint, capability } = await serve(bridge);
  const { token } = await endpoint.reset();
  const first = await RobotClient.connect(capability, { token });
  await first.run(() => [1, 1], { maxSteps: 2 });
  await first.close();
  await sleep(20);
  await using second = await RobotClient.connect(capability, { token });
  assert.deepEqual((await second.observation()).data["count"]!.toArray(), [2]);
});

test("what is no robot binding, and where nothing listens, is told", async () => {
  const binding = { name: "shell", protocol: "ssh/2", url: "ssh://h:22", params: {} };
  await assert.rejects(RobotClient.connect(binding), isError("invalid-value", /family openpi/));
  const nobody = { name: "robot", protocol: "openpi/0", url: "ws://127.0.0.1:1", params: {} };
  await assert.rejects(
    RobotClient.connect(nobody),
    isError("connection-lost", /127\.0\.0\.1:1: ECONNREFUSED/),
  );
});
