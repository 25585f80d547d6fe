// Through the control port: an environment's endpoint, and an agent's client.
import assert from "node:assert/strict";
import { test } from "vitest";
import { connect } from "@envport/client";
import { isError, until } from "./_testing.ts";
import { serveWalk } from "./_testing_environment.ts";
import { robot } from "./robot.ts";

/** The token in a prompt's frame. */
function tokenOf(frame: Record<string, unknown>): string {
  return (frame["bindings"] as { robot: { token: string } }).robot.token;
}

test("a task's agent drives the robot through the control port, and is graded", async () => {
  await using served = await serveWalk();
  await using client = await connect(served.url);
  assert.deepEqual(
    client.bindings.map(({ name, protocol, url }) => [name, protocol, url]),
    [["robot", "openpi/0", "ws://127.0.0.1:9091"]],
  );
  const task = await client.start("walk", { seed: 1 });
  const arm = await client.open(robot);
  assert.equal(arm.controlRate, 10);
  const { steps, terminated } = await arm.run(() => [1]);
  assert.deepEqual([steps, terminated], [2, true]);
  const { score } = await task.grade();
  assert.equal(score, 1);
});

test("each episode is opened anew by its token", async () => {
  await using served = await serveWalk();
  await using client = await connect(served.url);
  for (const seed of [0, 1, 2]) {
    const task = await client.start("walk", { seed });
    const arm = await client.open(robot.slot(tokenOf(task.frame)));
    assert.equal((await arm.run(() => [1])).steps, 3 - seed);
    assert.equal((await task.grade()).score, 1);
  }
});

test("before a task is started the robot refuses; a task that is cancelled gives its slot up", async () => {
  await using served = await serveWalk();
  await using client = await connect(served.url);
  await assert.rejects(
    client.open(robot),
    isError("authentication-failed", /found 0; pass the token from reset\(\)/),
  );
  const first = await client.start("walk", { seed: 1 });
  const arm = await client.open(robot.slot(tokenOf(first.frame)));
  await arm.observation();
  await first.cancel();
  await assert.rejects(arm.observation(), isError("connection-lost", /the episode is over/));
  const second = await client.start("walk", { seed: 2 });
  assert.notEqual(tokenOf(second.frame), tokenOf(first.frame));
});

test("an environment that stops sends the agent away", async () => {
  const served = await serveWalk();
  await using client = await connect(served.url);
  const task = await client.start("walk");
  const arm = await client.open(robot.slot(tokenOf(task.frame)));
  await arm.observation();
  const pending = arm.observation();
  const failed = assert.rejects(pending, isError("connection-lost"));
  await served[Symbol.asyncDispose]();
  await failed;
  await until(() => served.walk.closed === 1);
});
