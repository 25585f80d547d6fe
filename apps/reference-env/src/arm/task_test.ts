import { createHash } from "node:crypto";
import { connect } from "@envport/client";
import type { Client } from "@envport/client";
import { NdArray, robot } from "@envport/robot";
import type { RobotClient } from "@envport/robot";
import { Environment, serve } from "@envport/server";
import type { Server } from "@envport/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Journal } from "../journal.ts";
import { seededRandom } from "../seeded_random.ts";
import { solveArm } from "./agent.ts";
import { ArmBridge } from "./arm_bridge.ts";
import { MAX_STEPS, MAX_TURN } from "./arm_world.ts";
import { reachPolicy } from "./reach_policy.ts";
import { registerArm } from "./task.ts";

const SEEDS = Array.from({ length: 50 }, (_, seed) => seed);

let server: Server;

beforeAll(async () => {
  server = await serveArms(1);
});

afterAll(async () => {
  await server.close();
});

async function serveArms(arms: number): Promise<Server> {
  const env = new Environment({ name: "arms" });
  registerArm(env, { arms });
  return await serve(env);
}

interface Played {
  score: number;
  success: boolean;
  info: { steps: number; distance: number };
}

/** One episode over the control port. */
async function play(
  client: Client,
  seed: number,
  act: (arm: RobotClient) => Promise<unknown>,
  answer?: string,
): Promise<Played> {
  const task = await client.start("arm", { seed });
  const { token } = (task.frame["bindings"] as { robot: { token: string } }).robot;
  await using arm = await client.open(robot.slot(token));
  await act(arm);
  return (await task.grade(answer)) as unknown as Played;
}

const drive = (arm: RobotClient): Promise<unknown> => arm.run(reachPolicy(arm.contract));

test("the scripted policy solves at least 48 of 50 seeds through the robot client", async () => {
  await using client = await connect(server.url);
  const played = [];
  for (const seed of SEEDS) played.push(await play(client, seed, drive));
  expect(played.filter(({ score }) => score === 1).length).toBeGreaterThanOrEqual(48);
  expect(new Set(played.map(({ info }) => info.distance)).size).toBe(SEEDS.length);
}, 120_000);

test.each<[name: string, act: (random: () => number) => number]>([
  ["zeros", () => 0],
  ["random actions", (random) => (2 * random() - 1) * MAX_TURN],
  ["random full turns", (random) => (random() < 0.5 ? -MAX_TURN : MAX_TURN)],
])(
  "%s solve none of 50 seeds",
  async (_name, act) => {
    // Nobody looks, so no pictures are drawn.
    const bridge = new ArmBridge();
    const random = seededRandom(9);
    const grades = [];
    for (const seed of SEEDS) {
      await bridge.reset({ seed });
      for (let step = 0; step < MAX_STEPS; step++) {
        bridge.step(
          new NdArray(
            Float32Array.from([0, 0, 0], () => act(random)),
            [1, 3],
          ),
        );
      }
      expect(bridge.observe()[0]!.terminated).toBe(true);
      grades.push(bridge.result(0));
    }
    bridge.close();
    expect(grades.map(({ score }) => score)).toEqual(SEEDS.map(() => 0));
  },
  60_000,
);

test("the same seed is the same episode, to the last bit of what is seen", async () => {
  await using client = await connect(server.url);
  const watch = async (seed: number): Promise<string[]> => {
    const seen: string[] = [];
    await play(client, seed, async (arm) => {
      const decide = reachPolicy(arm.contract);
      await arm.run((observation) => {
        const hash = createHash("sha256");
        for (const { data } of Object.values(observation.data)) hash.update(data);
        seen.push(hash.digest("hex"));
        return decide(observation);
      });
    });
    return seen;
  };
  const first = await watch(3);
  expect(new Set(first).size).toBeGreaterThan(5);
  expect(await watch(3)).toEqual(first);
  expect(await watch(4)).not.toEqual(first);
});

test("the front camera sees the ball at the beginning of each of 50 seeds", async () => {
  const bridge = new ArmBridge();
  for (const seed of SEEDS) {
    await bridge.reset({ seed });
    const picture = bridge.observe()[0]!.data["observation/front_image"]!.data as Uint8Array;
    let green = 0;
    for (let at = 0; at < picture.length; at += 3) {
      if (picture[at + 1]! > 2 * picture[at]! && picture[at + 1]! > 1.5 * picture[at + 2]!) green++;
    }
    expect(green, `seed ${String(seed)}`).toBeGreaterThan(25);
  }
  bridge.close();
}, 60_000);

test("an agent that does nothing scores 0, whatever it says, also if it never connects", async () => {
  await using client = await connect(server.url);
  const idle = await play(client, 1, () => Promise.resolve(), "the tip is 0.0 cm from the ball");
  expect(idle).toMatchObject({ score: 0, success: false, info: { steps: 0 } });
  const task = await client.start("arm");
  expect(await task.grade("done")).toMatchObject({ score: 0 });
});

test("an agent that passes the ball without stopping has not reached it", async () => {
  await using client = await connect(server.url);
  const passed = await play(client, 1, async (arm) => {
    const decide = reachPolicy(arm.contract);
    let near = 0;
    await arm.run((observation) => {
      const [x, y, z, ...ball] = [...observation.data["observation/state"]!.data].slice(6).map(Number);
      if (Math.hypot(x! - ball[0]!, y! - ball[1]!, z! - ball[2]!) < 0.02 || near > 0) near++;
      return near === 0 ? decide(observation) : near < 60 ? [MAX_TURN, -MAX_TURN, -MAX_TURN] : undefined;
    });
    expect(near).toBe(60);
  });
  expect(passed).toMatchObject({ score: 0, success: false });
});

test("the prompt says what counts, and what cannot be turned so far is cut off", async () => {
  await using client = await connect(server.url);
  const task = await client.start("arm", { seed: 2 });
  expect(task.promptText).toMatch(/green ball.*nearer than 2 cm.*5 steps in a row.*100 steps/);
  const arm = await client.open(robot);
  const angleOf = async (): Promise<number> =>
    Number((await arm.observation()).data["observation/state"]!.data[0]);
  const before = await angleOf();
  await arm.act([1_000, 0, 0]);
  const turned = (await angleOf()) - before;
  expect(turned).toBeGreaterThan(0);
  expect(turned).toBeLessThan(MAX_TURN);
  await task.grade();
});

test("four agents move four arms at once, in the same steps", async () => {
  await using fleet = await serveArms(4);
  const agents = await Promise.all([1, 2, 3, 4].map(() => connect(fleet.url)));
  const first: string[] = [];
  const played = await Promise.all(
    agents.map((client) =>
      play(client, 11, async (arm) => {
        const decide = reachPolicy(arm.contract);
        let seen = false;
        await arm.run((observation) => {
          if (!seen) first.push(String(observation.data["observation/state"]!.data));
          seen = true;
          return decide(observation);
        });
      }),
    ),
  );
  await Promise.all(agents.map((client) => client.close()));
  expect(played.map(({ score }) => score)).toEqual([1, 1, 1, 1]);
  expect(new Set(first).size).toBe(4);
}, 60_000);

test("of four agents, one that gives up early scores 0 alone, and the others go on", async () => {
  await using fleet = await serveArms(4);
  const agents = await Promise.all([1, 2, 3, 4].map(() => connect(fleet.url)));
  const played = await Promise.all(
    agents.map((client, index) =>
      play(client, 5, async (arm) => {
        if (index > 0) await drive(arm);
        else await arm.run(reachPolicy(arm.contract), { maxSteps: 2 });
      }),
    ),
  );
  await Promise.all(agents.map((client) => client.close()));
  expect(played.map(({ score }) => score)).toEqual([0, 1, 1, 1]);
}, 60_000);

test("the agent notes its steps, what the cameras saw, and the episode as an animation", async () => {
  await using client = await connect(server.url);
  const task = await client.start("arm");
  const journal = new Journal();
  const answer = await solveArm(client, task.promptText, journal);
  const { score } = await task.grade(answer);
  const steps = journal.entries.filter(({ kind }) => kind === "step");
  const pictures = journal.entries.filter((entry) => entry.kind === "picture");
  expect(score).toBe(1);
  expect(answer).toBe(
    `the tip is ${/[\d.]+/.exec(answer)![0]} cm from the ball, after ${String(steps.length)} actions`,
  );
  expect(pictures.map(({ caption }) => caption)).toEqual([
    "front camera, before",
    "wrist camera, before",
    "front camera, after",
    "wrist camera, after",
    "front camera, the whole episode",
  ]);
  const film = pictures.at(-1)!.data;
  expect(film.readUInt32BE(film.indexOf("acTL") + 4)).toBe(steps.length + 1);
});
