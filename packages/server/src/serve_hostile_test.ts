import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { LineClient } from "./_testing.ts";
import { heldMemory, stage, until, work } from "./_testing.ts";

/** A session that must not notice anything. */
async function bystander(connect: () => Promise<LineClient>, k: number): Promise<() => Promise<void>> {
  const client = await connect();
  await client.result("tasks.start", work(k));
  return async () => {
    expect(await client.result("tasks.grade", { answer: "a" })).toEqual({ score: k + 0.5 });
    expect(client.frames).toEqual([]);
  };
}

const method = fc.constantFrom(
  "hello",
  "tasks.list",
  "tasks.start",
  "tasks.grade",
  "tasks.cancel",
  "ping",
  "bye",
  "tunnel.open",
  "__proto__",
  "",
);
const key = fc.constantFrom(
  "id",
  "method",
  "params",
  "session_id",
  "args",
  "answer",
  "capability",
  "__proto__",
  "constructor",
);
const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom("work", "throws", "echo", 1, null));
const params = fc.oneof(
  value,
  fc.dictionary(key, value),
  fc.constant(JSON.parse('{"__proto__":{"id":"work"}}')),
);
const id = fc.oneof(value, fc.integer(), fc.constant(undefined));
const request = fc
  .record({ id, method: fc.oneof(method, value), params })
  .map((frame) => `${JSON.stringify(frame)}\n`);
const line = fc.oneof(
  { weight: 6, arbitrary: request },
  { weight: 1, arbitrary: fc.json().map((text) => `${text}\n`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "\n",
      "\r\n",
      "{}\n",
      "[]\n",
      '{"id":1',
      "GET / HTTP/1.1\r\n\r\n",
      "\u{feff}{}\n",
    ),
  },
);
const bytes = fc.oneof(
  { weight: 4, arbitrary: line.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)) },
);

test("CONN-2: two thousand random conversations crash nothing, pollute nothing and disturb nobody", async () => {
  const { connect, server, log } = await stage({ prefaceTimeout: 1_000, parkTtl: 50 });
  const check = await bystander(connect, 1);
  const conversations = fc.sample(fc.tuple(fc.array(bytes, { minLength: 1, maxLength: 8 }), fc.nat(2)), {
    numRuns: 2_000,
    seed: 20_251,
  });
  for (let first = 0; first < conversations.length; first += 100) {
    await Promise.all(
      conversations.slice(first, first + 100).map(async ([chunks, end]) => {
        const socket = net
          .connect(server.port, "127.0.0.1")
          .on("error", () => {})
          .resume();
        socket.write(Buffer.concat(chunks));
        await sleep(2);
        if (end === 0) socket.destroy();
        else if (end === 1) socket.resetAndDestroy();
        else {
          socket.end();
          await Promise.race([new Promise((resolve) => socket.once("close", resolve)), sleep(2_000)]);
          socket.destroy();
        }
      }),
    );
  }
  await until(() => server.stats().connections === 1, "one connection");
  await until(() => server.stats().sessions.parked === 0, "nothing parked");
  expect(log.entries.filter(({ level }) => level === "error")).toEqual([]);
  expect(Object.keys(Object.prototype)).toEqual([]);
  await check();
});

test("CONN-2: a client that never reads its replies is stopped, and holds little memory", async () => {
  const { connect, server, env } = await stage();
  env.template("large").run(async function* () {
    yield "x".repeat(100_000);
  });
  const check = await bystander(connect, 1);
  const socket = net.connect(server.port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void socket.destroy());
  socket.pause();
  const before = await heldMemory();
  const flood = Buffer.from('{"id":1,"method":"tasks.start","params":{"id":"large"}}\n'.repeat(200));
  let written = 0;
  for (let i = 0; i < 2_000; i++, written += flood.length) {
    if (socket.write(flood)) continue;
    const drained = await Promise.race([
      new Promise((resolve) => socket.once("drain", resolve)),
      sleep(300, "stuck"),
    ]);
    if (drained === "stuck") break;
  }
  // It would be two gigabytes of replies.
  expect((await heldMemory()) - before - socket.writableLength).toBeLessThan(4 * 1024 * 1024);
  await check();
  socket.destroy();
  await until(() => server.stats().connections === 1);
});

test("CONN-2: half a frame, and a frame that drips, keep nobody from anything", async () => {
  const { connect, server } = await stage();
  const check = await bystander(connect, 1);
  const [half, dripping] = [await connect(), await connect()];
  await Promise.all([half.hello(), dripping.hello()]);
  half.socket.write('{"id":9,"method":"tasks.st');
  const text = `${JSON.stringify({ id: "d", method: "tasks.start", params: work(2) })}\n`;
  for (const byte of Buffer.from(text)) {
    dripping.socket.write(Buffer.from([byte]));
    await sleep(0);
  }
  expect(await dripping.reply("d")).toMatchObject({ result: { prompt: "go:2" } });
  // What is cut off in the middle is no request.
  half.socket.end();
  expect(await half.next()).toMatchObject({ id: null, error: { code: -32700 } });
  await half.ended;
  await check();
  await until(() => server.stats().connections === 2);
});

test("TASK-8: a cancel is read while a start or grade with a large frame is running", async () => {
  const { connect, events } = await stage();
  const client = await connect();
  await client.hello();
  const large = "x".repeat(2 * 1024 * 1024);
  const start = client.request("tasks.start", { id: "work", args: { k: 1, hold: "start", large } });
  await until(() => events.includes("start 1"));
  expect(await client.result("tasks.cancel")).toEqual({ cancelled: true });
  expect(await client.reply(start)).toMatchObject({ error: { data: { type: "cancelled" } } });
});
