import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { test } from "vitest";
import { Counting, RawAgent, serve, until } from "./_testing.ts";
import type { FrameValue } from "./encode.ts";
import { NdArray } from "./nd_array.ts";
import { RobotClient } from "./robot_client.ts";

/** Two agents in two slots, after their first observations. */
async function pair(bridge = new Counting({ numEnvs: 2 }), options = {}) {
  const { endpoint, url } = await serve(bridge, options);
  const tokens = [(await endpoint.reset()).token, (await endpoint.reset()).token] as const;
  const bad = await RawAgent.claim(url, tokens[0]);
  const good = await RawAgent.claim(url, tokens[1]);
  return { bridge, endpoint, url, tokens, bad, good };
}

test("the barrier steps once all have acted; each gets its own row, and holds are zeros", async () => {
  const { bridge, bad: one, good: other } = await pair(new Counting({ numEnvs: 2 }));
  one.act(1, 1);
  await sleep(20);
  assert.equal(bridge.ticks, 0);
  other.act(2, 2);
  const [first, second] = await Promise.all([one.observation(), other.observation()]);
  assert.deepEqual(
    [first["last"]!.toArray(), second["last"]!.toArray()],
    [
      [1, 1],
      [2, 2],
    ],
  );
  other.ws.close();
  await other.closed;
  one.act(3, 3);
  await one.observation();
  assert.deepEqual(bridge.steps.at(-1), {
    rows: [
      [3, 3],
      [0, 0],
    ],
    acting: [true, false],
  });
});

test("two actions before a step: the last one counts, and there is one observation", async () => {
  const { bridge, bad: one, good: other } = await pair();
  one.act(1, 1);
  one.act(5, 5);
  await sleep(20);
  other.act(0, 0);
  await one.observation();
  await sleep(20);
  assert.deepEqual([bridge.steps.map(({ rows }) => rows[0]), one.unread], [[[5, 5]], 0]);
});

const finite = (data: number[], shape?: number[]): NdArray => new NdArray(Float32Array.from(data), shape);
const BAD: [name: string, frame: FrameValue | Buffer, text: RegExp][] = [
  [
    "too few numbers",
    { actions: finite([1]) },
    /^Cannot take action as it must have 2 numbers: current value has 1$/,
  ],
  ["too many numbers", { actions: finite([1, 2, 3]) }, /must have 2 numbers: current value has 3/],
  ["NaN", { actions: finite([1, Number.NaN]) }, /must be finite: current value at 1 is NaN/],
  ["infinity", { actions: [1, Number.POSITIVE_INFINITY] }, /must be finite/],
  ["a number that no 32-bit float holds", { actions: [1, 1e300] }, /must be finite/],
  ["texts", { actions: ["a", "b"] }, /must be a list of numbers: current value at 0 is string/],
  ["nothing", { actions: null }, /'actions' must be an array of numbers/],
  ["no actions", { action: [1, 2] }, /must be a map with 'actions'/],
  ["a list", [1, 2], /must be a map with 'actions'/],
  [
    "a chunk",
    { actions: finite([1, 2, 3, 4], [2, 2]) },
    /^Cannot take a chunk of 2 actions .*: send \[2\] instead of \[2, 2\]$/,
  ],
  [
    "a chunk of lists",
    {
      actions: [
        [1, 2],
        [3, 4],
      ],
    },
    /Cannot take a chunk of 2 actions/,
  ],
  ["no msgpack", Buffer.from([0xc1]), /0xc1 at byte 0/],
  ["too much nesting", Buffer.alloc(5_000, 0x91), /nested deeper than 64/],
  [
    "an array of objects",
    Buffer.from(
      "81a7616374696f6e7384c40b5f5f6e6461727261795f5fc3c40464617461c40800000000000000 00c4056474797065a27c4fc405736861706591 01".replaceAll(
        " ",
        "",
      ),
      "hex",
    ),
    /dtype must be .*"\|O"/,
  ],
];

test.each(BAD)(
  "an agent that sends %s is sent away with one line, and its neighbour goes on",
  async (_, frame, text) => {
    const { bridge, url, tokens, bad, good } = await pair();
    good.act(1, 1);
    bad.send(frame);
    const said = await bad.text();
    assert.match(said, text);
    assert.doesNotMatch(said, /\n|\/work|at .*:\d+/);
    assert.equal((await bad.closed).code, 1011);
    assert.deepEqual((await good.observation())["count"]!.toArray(), [1]);
    assert.equal(bridge.ticks, 1);
    const again = await RawAgent.claim(url, tokens[0]);
    again.act(7, 7);
    good.act(2, 2);
    assert.deepEqual((await again.observation())["last"]!.toArray(), [7, 7]);
  },
);

test("text frames, frames over the limit and resets send an agent away, not its neighbour", async () => {
  const { bridge, url, tokens, bad, good } = await pair(undefined, { maxActionBytes: 1_000 });
  bad.ws.send("hello");
  assert.match(await bad.text(), /frames must be binary/);
  const large = await RawAgent.claim(url, tokens[0]);
  large.send(Buffer.alloc(2_000));
  await large.closed;
  const reset = await RawAgent.claim(url, tokens[0]);
  reset.ws.terminate();
  good.act(1, 1);
  assert.deepEqual((await good.observation())["count"]!.toArray(), [1]);
  assert.equal(bridge.ticks, 1);
});

test("an action after the end is refused, and the simulator is not stepped", async () => {
  const bridge = new Counting({ numEnvs: 2, end: 1_000 });
  bridge.end[0] = 1;
  const { bad: done, good } = await pair(bridge);
  done.act(1, 1);
  good.act(1, 1);
  assert.equal((await done.observation()).terminated, true);
  await good.observation();
  done.act(2, 2);
  assert.equal(await done.next(), "slot 0 has already terminated");
  assert.equal((await done.closed).code, 1011);
  await sleep(20);
  assert.equal(bridge.ticks, 1);
  good.act(3, 3);
  assert.deepEqual((await good.observation())["count"]!.toArray(), [2]);
});

test("the claim: only a map with a token, of a slot that is claimed and that nobody drives", async () => {
  const { endpoint, url } = await serve(new Counting({ numEnvs: 2 }));
  const refused = async (frame: FrameValue | Buffer): Promise<string> => {
    const agent = new RawAgent(url);
    assert.deepEqual(await agent.next(), { claim_required: true });
    agent.send(frame);
    const text = await agent.text();
    assert.equal((await agent.closed).code, 1011);
    return text;
  };
  assert.match(
    await refused({ claim: null }),
    /^tokenless claim needs exactly one claimed slot, found 0; pass the token/,
  );
  assert.match(await refused({ claim: "slot-9-zz" }), /^unknown episode token: 'slot-9-zz'$/);
  for (const frame of [{}, [], { claim: 1 }, "x"]) {
    assert.match(await refused(frame), /^first frame must be \{"claim": <token or None>\}$/);
  }
  assert.match(await refused(Buffer.from([0xc1])), /0xc1/);
  const { token } = await endpoint.reset();
  assert.match(token, /^slot-0-[0-9a-f]{32}$/);
  const first = await RawAgent.claim(url, null);
  assert.match(await refused({ claim: token }), /^slot 0 already has a live connection$/);
  first.act(1, 1);
  await first.observation();
});

test("who says nothing is sent away after claimTimeout, and harms nobody", async () => {
  const { endpoint, url } = await serve(new Counting(), { claimTimeout: 400 });
  const silent = new RawAgent(url);
  await silent.next();
  assert.match(await silent.text(), /the claim longer than 400 ms/);
  const { token } = await endpoint.reset();
  const agent = await RawAgent.claim(url, token);
  await sleep(450);
  agent.act(1, 1);
  await agent.observation();
});

test("the others wait for an agent that is still to connect, but not longer than dialTimeout", async () => {
  const bridge = new Counting({ numEnvs: 2 });
  const { endpoint, url } = await serve(bridge, { dialTimeout: 500 });
  const [first, late] = [await endpoint.reset(), await endpoint.reset()];
  const agent = await RawAgent.claim(url, first.token);
  agent.act(1, 1);
  await sleep(40);
  assert.equal(bridge.ticks, 0);
  await agent.observation();
  const expired = new RawAgent(url);
  await expired.next();
  expired.send({ claim: late.token });
  assert.equal(await expired.next(), "slot 1 initial connection deadline expired");
  assert.deepEqual(await endpoint.result(late.token), { score: 1, success: null, total_reward: 1 });
});

test("an agent that keeps nobody waiting may take longer than dialTimeout to connect", async () => {
  const { endpoint, url } = await serve(new Counting({ numEnvs: 2 }), { dialTimeout: 400 });
  const [one, other] = [await endpoint.reset(), await endpoint.reset()];
  await sleep(450);
  const first = await RawAgent.claim(url, one.token);
  const second = await RawAgent.claim(url, other.token);
  first.act(1, 1);
  second.act(1, 1);
  await first.observation();
  await second.observation();
});

test("nobody is hurried while it thinks; with actionTimeout it is sent away and may come back", async () => {
  const patient = await pair();
  patient.good.act(1, 1);
  await sleep(80);
  assert.equal(patient.bridge.ticks, 0);
  const { bridge, url, tokens, bad, good } = await pair(new Counting({ numEnvs: 2 }), { actionTimeout: 600 });
  good.act(1, 1);
  assert.equal(await bad.next(), "robot env: slot timed out waiting for an action");
  assert.equal((await bad.closed).code, 1000);
  await good.observation();
  assert.deepEqual(bridge.steps[0]!.acting, [false, true]);
  const again = await RawAgent.claim(url, tokens[0]);
  again.act(2, 2);
  good.act(2, 2);
  await again.observation();
});

test("a slot that nobody has claimed before the first step waits for the next batch", async () => {
  const bridge = new Counting({ numEnvs: 2 });
  const { endpoint, url } = await serve(bridge);
  const first = await endpoint.reset({ seed: 1 });
  const agent = await RawAgent.claim(url, first.token);
  agent.act(1, 1);
  await agent.observation();
  const late = endpoint.reset({ seed: 1 });
  await sleep(120);
  assert.equal(bridge.resets.length, 1);
  await endpoint.result(first.token);
  assert.notEqual((await late).token, first.token);
  assert.equal(bridge.resets.length, 2);
});

test("with gatherTimeout the first step waits for further claims, and no longer once all are there", async () => {
  const bridge = new Counting({ numEnvs: 2 });
  const { endpoint, url } = await serve(bridge, { gatherTimeout: 5_000 });
  const one = await RawAgent.claim(url, (await endpoint.reset()).token);
  one.act(1, 1);
  await sleep(30);
  assert.equal(bridge.ticks, 0);
  const other = await RawAgent.claim(url, (await endpoint.reset()).token);
  other.act(2, 2);
  await Promise.all([one.observation(), other.observation()]);
});

test("a simulator that fails tells everybody in one line, without paths; the next episode is a new one", async () => {
  const { bridge, endpoint, tokens, bad: one, good: other } = await pair();
  bridge.failing = new Error(
    "motor 3 in /srv/secret/model.xml is on fire\n    at step (/srv/secret/sim.js:1:1)",
  );
  one.act(1, 1);
  other.act(1, 1);
  for (const agent of [one, other]) {
    assert.equal(await agent.next(), "robot env: the simulator failed: motor 3 in <path> is on fire");
    await agent.closed;
  }
  bridge.failing = undefined;
  for (const token of tokens) await endpoint.result(token);
  const { token } = await endpoint.reset();
  assert.equal(bridge.resets.length, 2);
  await endpoint.result(token);
});

test("handshake, claim and the control of other slots are answered during a step", async () => {
  const bridge = new Counting({ numEnvs: 1 });
  const { endpoint, url } = await serve(bridge);
  let open = (): void => undefined;
  bridge.gate = new Promise((resolve) => (open = resolve));
  const agent = await RawAgent.claim(url, (await endpoint.reset()).token);
  agent.act(1, 1);
  const other = new RawAgent(url);
  assert.deepEqual(await other.next(), { claim_required: true });
  other.send({ claim: null });
  assert.match(await other.text(), /already has a live connection/);
  open();
  await agent.observation();
});

test("a batch is not cut by the length of its arrays: a slot gets what it was given", async () => {
  const bridge = new Counting({ numEnvs: 2 });
  bridge.observe = () =>
    [0, 1].map((slot) => ({
      data: { count: new NdArray(Float32Array.of(slot)), last: new NdArray(Float32Array.of(slot, 10)) },
      terminated: false,
    }));
  const { bad: one, good: other } = await pair(bridge);
  one.act(1, 1);
  other.act(1, 1);
  assert.deepEqual((await one.observation())["last"], new NdArray(Float32Array.of(0, 10)));
  assert.deepEqual((await other.observation())["last"], new NdArray(Float32Array.of(1, 10)));
});

test("an observation that breaks the contract fails on the side of the environment, with name and shapes", async () => {
  const bridge = new Counting();
  const { endpoint } = await serve(bridge);
  const sees = (data: Record<string, NdArray>): Promise<unknown> => {
    bridge.observe = () => [{ data, terminated: false }];
    return endpoint.reset();
  };
  const count = new NdArray(Float32Array.of(1));
  await assert.rejects(sees({ count }), /observation 'last' as the contract promises it/);
  await assert.rejects(
    sees({ count, last: count }),
    /'last' as the contract promises the shape \[2\]: current value is <f4 \[1\]/,
  );
  const last = new NdArray(Float32Array.of(1, 2));
  await assert.rejects(sees({ count: new NdArray(Float32Array.of(1), []), last }), /one dimension at least/);
  await assert.rejects(
    sees({ count: new NdArray(Uint8Array.of(1)), last }),
    /promises float32: current value is \|u1 \[1\]/,
  );
  await assert.rejects(sees({ count: last, last }), /the contract names 1 numbers/);
  await assert.rejects(sees({ count, last, reward: last }), /must have another name/);
  bridge.observe = () => [];
  await assert.rejects(endpoint.reset(), /one for each of 1 slots: current value has 0/);
});

test("floats of another size are cast to what the contract promises, and that is told once", async () => {
  const logged: string[] = [];
  const bridge = new Counting();
  bridge.observe = () => [
    {
      data: { count: new NdArray(Float64Array.of(0.1)), last: new NdArray(Float32Array.of(1, 2)) },
      terminated: false,
    },
  ];
  const { endpoint, url } = await serve(bridge, { log: (message) => logged.push(message) });
  await endpoint.reset();
  const agent = new RawAgent(url);
  await agent.next();
  agent.send({ claim: null });
  assert.deepEqual((await agent.observation())["count"], new NdArray(Float32Array.of(0.1)));
  agent.act(1, 1);
  await agent.observation();
  assert.deepEqual(logged, [
    "the observation 'count' is cast from <f8 to float32, which the contract promises",
  ]);
});

test("an agent that acts without reading holds no memory: it gets the newest frame later", async () => {
  const bridge = new Counting({ end: 400 });
  const image = new NdArray(new Uint8Array(500_000));
  const observe = bridge.observe.bind(bridge);
  bridge.observe = () => observe().map((one) => ({ ...one, data: { ...one.data, image } }));
  const { endpoint, url } = await serve(bridge);
  await endpoint.reset();
  const agent = await RawAgent.claim(url, null);
  agent.ws.pause();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  const before = process.memoryUsage().arrayBuffers;
  while (bridge.ticks < 399) {
    const { ticks } = bridge;
    agent.act(1, 1);
    await until(() => bridge.ticks > ticks);
  }
  agent.act(1, 1);
  await until(() => bridge.ticks === 400);
  collect();
  // All frames together would be 200 MB.
  assert.ok(process.memoryUsage().arrayBuffers - before < 100_000_000);
  agent.ws.resume();
  let last = await agent.observation();
  while (!last.terminated) last = await agent.observation();
  assert.deepEqual(last["count"]!.toArray(), [400]);
});

test("compression is never agreed to, and a web page is refused", async () => {
  const { endpoint, url } = await serve(new Counting());
  await endpoint.reset();
  const offering = new RawAgent(url, { perMessageDeflate: true });
  await offering.next();
  assert.equal(offering.ws.extensions, "");
  const page = new RawAgent(url, { origin: "https://evil.example" });
  assert.equal(await page.next(), undefined);
  assert.equal((await page.closed).code, 1006);
  const plain = await fetch(url.replace("ws:", "http:"));
  assert.equal(plain.status, 426);
});

test("three hundred hostile connections leave two agents undisturbed", async () => {
  const { url, bridge, bad: one, good: other } = await pair();
  const hostile = async (index: number): Promise<void> => {
    if (index % 3 === 0) {
      const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
      socket.on("error", () => undefined);
      await once(socket, "connect").catch(() => undefined);
      socket.write(
        index % 2
          ? "\x16\x03\x01\x02"
          : "GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
      );
      await sleep(5);
      socket.resetAndDestroy();
      return;
    }
    const agent = new RawAgent(url);
    await agent.next();
    if (index % 3 === 1) agent.send({ claim: `slot-${index}` });
    else agent.ws.terminate();
    await agent.closed;
  };
  for (let round = 0; round < 10; round++) {
    const batch = Array.from({ length: 30 }, (_, index) => hostile(round * 30 + index));
    one.act(round, 0);
    other.act(round, 1);
    await Promise.all([one.observation(), other.observation(), ...batch]);
  }
  assert.equal(bridge.ticks, 10);
});

test("a client of ours sees the refusal of a bridge of ours", async () => {
  const { capability } = await serve(new Counting());
  await assert.rejects(
    RobotClient.connect(capability, { token: "slot-0-no" }),
    /unknown episode token: 'slot-0-no'/,
  );
});
