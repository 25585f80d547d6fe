/** An environment with a robot. */
import { Environment, serve } from "@envport/server";
import { z } from "zod";
import { gym } from "./gym.ts";
import type { GymEnv, GymResetOptions } from "./gym_env.ts";
import { RobotEndpoint } from "./robot_endpoint.ts";

/** A walk from the seed to 3. */
export class ShortWalk implements GymEnv {
  readonly actionSpace = { type: "box", shape: [1] } as const;
  readonly taskDescription = "Go to 3.";
  at = 0;
  closed = 0;

  reset(options?: GymResetOptions) {
    this.at = options?.seed ?? 0;
    return [Float32Array.of(this.at), {}] as const;
  }

  step(action: unknown) {
    this.at += (action as { data: Float32Array }).data[0]!;
    const success = this.at === 3;
    return [Float32Array.of(this.at), -1, success, Math.abs(this.at) > 5, { success }] as const;
  }

  close(): void {
    this.closed++;
  }
}

/** Serves it on a port of its own. */
export async function serveWalk(): Promise<{ url: string; walk: ShortWalk } & AsyncDisposable> {
  const walk = new ShortWalk();
  const env = new Environment({ name: "walks" });
  const sim = new RobotEndpoint(gym(walk));
  env.use(sim);
  env.onTaskEnd((session) => sim.release(session));
  env.template("walk", { args: z.object({ seed: z.int().optional() }) }).run(async function* (
    args,
    { sessionId: session, signal },
  ) {
    const episode = await sim.reset(args, { session, signal });
    yield episode.frame;
    yield await sim.result(episode.token);
  });
  const server = await serve(env, { port: 0 });
  return { url: server.url, walk, [Symbol.asyncDispose]: () => server.close() };
}
