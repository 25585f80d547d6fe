import { connect } from "@envport/client";
import type { Client } from "@envport/client";
import { ProtocolError } from "@envport/wire";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { servePeer } from "./_peer.ts";
import type { PeerServer } from "./_peer.ts";

let server: PeerServer;
let client: Client;
beforeAll(async () => {
  server = await servePeer("exam_environment");
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  client = await connect(server.url);
  onTestFinished(() => client.bye().catch(() => undefined)); // one test has aborted it
});

async function rejection(call: Promise<unknown>): Promise<[number, string]> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProtocolError)) throw new Error(`Not a protocol error: ${String(error)}`);
  return [error.code, error.message];
}

test("our client reads the peer's manifest and schemas", async () => {
  expect(client.environment).toMatchObject({ name: "peer-exam", version: "0.6.21" });
  expect(client.sessionId).toMatch(/^sess-[0-9a-f]{8}$/);
  const [add] = await client.tasks();
  expect(add).toMatchObject({
    id: "add",
    description: "Add two numbers",
    args: { properties: { a: { type: "integer" } }, required: ["a"], additionalProperties: false },
    returns: { properties: { total: { type: "integer" } } },
  });
});

test("our client starts and grades a task of the peer's with a structured answer", async () => {
  const task = await client.start("add", { a: 2 });
  expect(task.promptText).toBe("What is 2 1?");
  expect((await task.grade({ total: 3 })).score).toBe(1);
});

test("our client reads an evaluation of the peer's with subscores, and a prompt with more members", async () => {
  const task = await client.start("essay");
  expect(task.frame).toMatchObject({ prompt: "Write three words.", hint: "short ones" });
  expect(await task.grade("one two three")).toMatchObject({
    score: 0.75,
    content: "one two three",
    info: { words: 3 },
    subscores: [
      { name: "length", value: 1, weight: 0.75 },
      { name: "style", value: 0, weight: 0.25 },
    ],
  });
});

test("our client tells what the peer's server refuses, and goes on", async () => {
  expect(await rejection(client.start("nope"))).toEqual([-32602, expect.stringContaining("nope")]);
  expect(await rejection(client.start("fails"))).toEqual([-32000, "the dog ate it"]);
  expect(await rejection(client.start("add", {}))).toEqual([-32000, expect.stringContaining("bad args")]);
  expect((await (await client.start("add", { a: 1 })).grade({ total: 2 })).score).toBe(1);
});

test("our client cancels a start of the peer's that does not end", async () => {
  const starting = rejection(client.start("endless"));
  await client.cancel();
  expect(await starting).toEqual([-32000, expect.stringContaining("interrupted")]);
  expect((await (await client.start("add", { a: 1 })).grade({ total: 2 })).score).toBe(1);
});

test("our client resumes its task at the peer's server after its connection was lost", async () => {
  const task = await client.start("add", { a: 40 });
  client.abort();
  const again = await connect(server.url, { sessionId: client.sessionId });
  expect((await again.grade({ total: 41 })).score).toBe(1);
  expect(task.promptText).toBe("What is 40 1?");
  await again.close();
});

test("our client's heartbeats keep an idle session at the peer's server", async () => {
  await using beating = await connect(server.url, { heartbeatInterval: 20 });
  let failed = 0;
  beating.on("heartbeat:failed", () => failed++);
  const task = await beating.start("add", { a: 1 });
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect((await task.grade({ total: 2 })).score).toBe(1);
  expect(failed).toBe(0);
});

test("frames of megabytes go both ways between our client and the peer's server", async () => {
  const task = await client.start("mirror", { size: 3_000_000 });
  expect(task.promptText.length).toBe(3_000_000);
  expect((await task.grade("y".repeat(5_000_000))).score).toBe(5_000_000);
});
