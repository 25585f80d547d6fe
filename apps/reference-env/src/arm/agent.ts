import type { Client } from "@envport/client";
import { robot } from "@envport/robot";
import type { RobotObservation } from "@envport/robot";
import type { Journal } from "../journal.ts";
import { encodePng } from "./encode_png.ts";
import { reachPolicy } from "./reach_policy.ts";

/**
 * An agent without a model: it moves the arm by what the contract and the observations say, and notes what its cameras saw.
 *
 * @param client A connection whose session has started the task.
 * @param journal Told what is done, with pictures and an animation of the front camera.
 * @returns The answer: how near the tip is.
 */
export async function solveArm(client: Client, _prompt: string, journal: Journal): Promise<string> {
  const arm = await client.open(robot);
  const decide = reachPolicy(arm.contract);
  const film = [];
  let observation = await arm.observation();
  look(journal, "before", observation);
  for (;;) {
    film.push(pixels(observation, "front"));
    if (observation.terminated) break;
    const action = decide(observation);
    observation = await journal.step(
      `act([${action.map((turn) => turn.toFixed(3)).join(", ")}])`,
      async () => {
        await arm.act(action);
        return await arm.observation();
      },
      describe,
    );
  }
  look(journal, "after", observation);
  const { width, height } = frameSize(observation);
  journal.picture(
    "front camera, the whole episode",
    encodePng(film, { width, height, delay: 1_000 / arm.controlRate }),
  );
  return `${describe(observation)}, after ${String(film.length - 1)} actions`;
}

function describe({ data }: RobotObservation): string {
  const [x, y, z, ...ball] = [...data["observation/state"]!.data].slice(6).map(Number);
  const distance = Math.hypot(x! - ball[0]!, y! - ball[1]!, z! - ball[2]!);
  return `the tip is ${(100 * distance).toFixed(1)} cm from the ball`;
}

/** Notes what both cameras see. */
function look(journal: Journal, when: string, observation: RobotObservation): void {
  for (const camera of ["front", "wrist"]) {
    const picture = encodePng([pixels(observation, camera)], frameSize(observation));
    journal.picture(`${camera} camera, ${when}`, picture);
  }
}

/** A copy: what is observed is a view on a frame. */
function pixels({ data }: RobotObservation, camera: string): Uint8Array {
  return Uint8Array.from(data[`observation/${camera}_image`]!.data as Uint8Array);
}

function frameSize({ data }: RobotObservation): { width: number; height: number } {
  const [height, width] = data["observation/front_image"]!.shape;
  return { width: width!, height: height! };
}
