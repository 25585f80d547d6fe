// The Python peer's environments and agents, unpatched, with ours on the other side of the control port.
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { test } from "vitest";
import { connect } from "@envport/client";
import { serveWalk } from "./_testing_environment.ts";
import { peerReport, startPeer } from "./_testing_peer.ts";
import { robot } from "./robot.ts";

const TIMEOUT = { timeout: 90_000 };

test(
  "an agent of the peer drives a robot of an environment of ours by the token of its task",
  TIMEOUT,
  async () => {
    await using served = await serveWalk();
    const report = await peerReport<{ steps: number; last: number[]; grade: { score: number } }>(
      "peer_robot_hud_agent.py",
      served.url,
    );
    assert.deepEqual([report.steps, report.last, report.grade.score], [2, [3], 1]);
  },
);

test("two agents of ours drive a vectorized simulator of an environment of the peer", TIMEOUT, async () => {
  const peer = startPeer("peer_robot_environment.py");
  let url: string | undefined;
  for await (const line of createInterface(peer.stdout)) {
    const port = /^HUD_SERVE_PORT=(\d+)$/.exec(line)?.[1];
    if (port === undefined) continue;
    url = `tcp://127.0.0.1:${port}`;
    break;
  }
  assert.ok(url);
  peer.stdout.resume();
  const address = url;
  const play = async (): Promise<[number, number]> => {
    await using client = await connect(address);
    const task = await client.start("balance", { seed: 4 });
    const { token } = (task.frame["bindings"] as { robot: { token: string } }).robot;
    const pole = await client.open(robot.slot(token));
    const { steps } = await pole.run(({ data }) => {
      const [, , angle = 0, speed = 0] = data["obs"]!.toArray() as number[];
      return [angle + speed > 0 ? 1 : 0];
    });
    return [steps, (await task.grade()).score];
  };
  for (const [steps, score] of await Promise.all([play(), play()])) assert.ok(steps > 50 && score === steps);
});
