import type { AbortOptions } from "@envport/wire";
import { toChunk } from "./_action.ts";
import { NdArray } from "./nd_array.ts";
import type {
  PolicyAnswer,
  RobotAction,
  RobotPolicy,
  RobotRunOptions,
  RobotRunResult,
} from "./robot_client_options.ts";
import type { RobotObservation } from "./robot_observation.ts";

/** What a policy drives. */
interface Driven {
  observation(options: AbortOptions): Promise<RobotObservation>;
  act(action: RobotAction): Promise<void>;
}

/** Lets a policy act until the episode is over. */
export async function runPolicy(
  robot: Driven,
  policy: RobotPolicy,
  { signal, maxSteps = Number.POSITIVE_INFINITY, chunkSize = Number.POSITIVE_INFINITY }: RobotRunOptions,
): Promise<RobotRunResult> {
  let observation = await robot.observation({ signal });
  let steps = 0;
  let totalReward = 0;
  let queue: RobotAction[] = [];
  while (!observation.terminated && steps < maxSteps) {
    if (queue.length === 0) {
      const answer = await policy(observation);
      signal?.throwIfAborted();
      if (answer === undefined) break;
      queue = actionsOf(answer).slice(0, chunkSize);
    }
    await robot.act(queue.shift()!);
    observation = await robot.observation({ signal });
    steps++;
    totalReward += observation.reward ?? 0;
  }
  return { steps, terminated: observation.terminated, totalReward, observation };
}

/** The actions of an answer, one by one. */
function actionsOf(answer: NonNullable<PolicyAnswer>): RobotAction[] {
  if (answer instanceof NdArray)
    return answer.shape.length === 2 ? rows(toChunk(answer, undefined)) : [answer];
  if (Array.isArray(answer) && typeof answer[0] === "object") {
    return rows(toChunk(answer as readonly ArrayLike<number>[], undefined));
  }
  return [answer as ArrayLike<number>];
}

function rows(chunk: NdArray): NdArray[] {
  return Array.from({ length: chunk.shape[0]! }, (_, index) => chunk.row(index));
}
