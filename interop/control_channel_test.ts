import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { forwardControlPort } from "@envport/client";
import { serve } from "@envport/server";
import type { Server } from "@envport/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createExam } from "./_exam.ts";
import { hud, peer } from "./_peer.ts";

const exam = createExam();
const python = peer("control_channel");
let server: Server;
beforeAll(async () => {
  server = await serve(exam.env);
});
afterAll(async () => {
  await python[Symbol.asyncDispose]();
  await server.close();
});

const scenario = (name: string): Promise<unknown> => python.call(name, server.url);

test("the peer's HudClient reads our manifest and our tasks with their schemas", async () => {
  const manifest = (await scenario("manifest")) as { tasks: { id: string }[] };
  expect(manifest).toMatchObject({
    session: expect.stringMatching(/^sess-/),
    env: ["exam", "1.2.3"],
    bindings: [],
  });
  expect(manifest.tasks.map(({ id }) => id)).toEqual(["add", "essay", "fails", "endless", "mirror"]);
  expect(manifest.tasks[0]).toMatchObject({
    description: "Add two numbers",
    args: { type: "object", properties: { a: { type: "integer" }, b: { default: 1 } }, required: ["a"] },
    returns: { type: "integer" },
  });
});

test("the peer's HudClient starts and grades a task with typed arguments and a typed answer", async () => {
  expect(await scenario("episode")).toEqual([{ prompt: "What is 2 1?" }, { score: 1 }]);
});

test("strings of the peer's command line become the types that a task declares", async () => {
  expect(await scenario("coerced")).toEqual([{ prompt: "What is 40 2?" }, { score: 1 }]);
});

test("the peer reads an evaluation with subscores, content and info", async () => {
  expect(await scenario("subscores")).toEqual({
    reward: 0.75,
    content: "one two three",
    info: { words: 3 },
    subscores: [
      { name: "length", weight: 0.5, value: 1, children: null },
      {
        name: "style",
        weight: 0.5,
        value: 0.5,
        children: [{ name: "rhythm", weight: 1, value: 0.5, children: null }],
      },
    ],
    parsed: [
      ["length", 1, 0.5],
      ["style", 0.5, 0.5],
    ],
  });
});

test("SESS-5: the peer's split start and grade adopts the parked task", async () => {
  expect(await scenario("split")).toEqual([true, { score: 1 }]);
});

test("SESS-4: the peer resumes one of two parked sessions by its id", async () => {
  expect(await scenario("resumed")).toEqual([
    [true, 1],
    [true, 1],
  ]);
});

test("the peer gets errors with the codes and texts that it looks for", async () => {
  const errors = (await scenario("errors")) as Record<string, unknown>;
  expect(errors).toEqual({
    // `hud task grade` compares both: it starts the task itself then.
    "nothing to grade": [-32600, "no task in progress"],
    "unknown task": [-32602, expect.stringContaining("nope")],
    "bad args": [-32602, expect.stringContaining("a")],
    "task throws": [-32000, "the dog ate it"],
    "unknown session": [-32600, expect.stringContaining("sess-00000000")],
    "unknown method": [-32601, expect.stringContaining("tasks.unknown")],
    "still works": 1,
  });
});

test("the peer cancels a task, twice", async () => {
  expect(await scenario("cancelled")).toBe("cancelled");
});

test("the peer abandons a start that does not end: it is cancelled and cleaned up", async () => {
  const ended = exam.log.length;
  expect(await scenario("abandoned")).toBe("abandoned");
  await expect.poll(() => exam.log.slice(ended)).toContain("endless ended");
});

test("the peer's heartbeats keep their session and its task", async () => {
  expect(await scenario("heartbeat")).toEqual([1, true]);
});

test("frames of megabytes go both ways", async () => {
  expect(await scenario("large")).toEqual([3_000_000, 5_000_000]);
});

test("a whole rollout of the peer's, with its runtime, agent and grade, runs on our server", async () => {
  expect(await scenario("rollout")).toEqual({ reward: 1, trace: "completed", error: null });
});

test("SESS-10: the peer reaches a server that asks for a token through a forward that has it", async () => {
  const token = "a token for this test alone";
  await using guarded = await serve(createExam().env, { tokens: { orchestrator: token } });
  await using forward = await forwardControlPort(guarded.url, { token });
  expect(await python.call("episode", forward.url)).toEqual([{ prompt: "What is 2 1?" }, { score: 1 }]);
  await expect(python.call("episode", guarded.url)).rejects.toThrow("authentication required");
});

test("hud task start and hud task grade are two commands on one task", async () => {
  const started = await hud("task", "start", "add", "--url", server.url, "--args", '{"a": 20, "b": 3}');
  expect([started.stdout.trim(), started.code], started.stderr).toEqual(["What is 20 3?", 0]);
  const graded = await hud("task", "grade", "add", "--url", server.url, "--answer", "23");
  expect([graded.stdout.trim(), graded.code], graded.stderr).toEqual(["1", 0]);
});

test("hud task grade starts the task itself where none is parked", async () => {
  const { stdout, code, stderr } = await hud(
    ...["task", "grade", "add", "--url", server.url, "--args", '{"a": 5}', "--answer", "7"],
  );
  expect([stdout.trim(), code], stderr).toEqual(["0", 0]);
});

test("hud task list and hud task start resolve the rows of a file to our tasks", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "envport-interop-"));
  const rows = path.join(folder, "tasks.json");
  await writeFile(rows, JSON.stringify([{ env: "exam", id: "add", slug: "add-nine", args: { a: 8 } }]));
  try {
    const listed = await hud("task", "list", "--source", rows);
    expect(listed.stdout, listed.stderr).toContain("add-nine");
    const started = await hud("task", "start", "add-nine", "--source", rows, "--url", server.url);
    expect([started.stdout.trim(), started.code], started.stderr).toEqual(["What is 8 1?", 0]);
  } finally {
    await rm(folder, { recursive: true });
    await scenario("episode");
  }
});

test("hud task start says what our server says", async () => {
  const { code, stdout, stderr } = await hud("task", "start", "nope", "--url", server.url);
  expect(code).not.toBe(0);
  expect(stdout + stderr).toContain("nope");
});
