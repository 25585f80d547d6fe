import { RobotEndpoint } from "@envport/robot";
import type { Environment } from "@envport/server";
import { z } from "zod";
import { ArmBridge } from "./arm_bridge.ts";

/** Options of {@linkcode registerArm}. */
export interface RegisterArmOptions {
  /**
   * How many arms there are, each for an agent of its own. They are stepped together.
   *
   * @default {1}
   */
  arms?: number | undefined;
}

/** How long the arms wait for each other: for claims before the first step, then for an action, in milliseconds. */
const PATIENCE = { gatherTimeout: 5_000, actionTimeout: 60_000 };

/**
 * The task `arm`: a simulated arm with three joints whose tip has to reach a ball. It is seen and moved through the robot
 * capability only, and graded by where the simulator says it is.
 *
 * @param env Where to register it, with its simulator.
 * @param options How many arms.
 */
export function registerArm(env: Environment, { arms = 1 }: RegisterArmOptions = {}): void {
  const simulator = env.use(new RobotEndpoint(new ArmBridge(arms), arms === 1 ? {} : PATIENCE));
  env.onTaskEnd((session) => simulator.release(session));
  env
    .template("arm", {
      description: "Reach a ball with a robot's arm",
      args: z.object({ seed: z.int().default(7) }),
    })
    .run(async function* ({ seed }, { sessionId, signal }) {
      const episode = await simulator.reset({ seed }, { session: sessionId, signal });
      yield episode.frame;
      yield await simulator.result(episode.token);
    });
}
