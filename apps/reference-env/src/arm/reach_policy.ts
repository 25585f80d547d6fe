import type { RobotContract, RobotObservation } from "@envport/robot";

/** Part of the way to a joint's goal that is gone in one step: the arm follows with a delay, and is not to overshoot. */
const GAIN = 0.45;

/**
 * Moves the arm's tip to the ball. All it knows is what the contract says (names, lengths, limits) and what is observed.
 *
 * @param contract The contract of the task `arm`.
 * @returns How far each joint's target is to move, in radians.
 */
export function reachPolicy(contract: RobotContract): (observation: RobotObservation) => number[] {
  const {
    shoulder_height: shoulder,
    upper_arm: upper,
    forearm,
  } = contract["geometry"] as Record<string, number>;
  const names = contract.features["observation/state"]!.names!;
  const { high } = contract.features["action"]!["limits"] as { high: number };
  return ({ data }) => {
    const state = data["observation/state"]!.data;
    const read = (name: string): number => Number(state[names.indexOf(name)]);
    const x = read("ball_x");
    const y = read("ball_y");
    // A triangle of shoulder, elbow and ball: two sides are the arm, the third is how far the ball is.
    const ahead = Math.hypot(x, y);
    const above = read("ball_z") - shoulder!;
    const cosine = (ahead ** 2 + above ** 2 - upper! ** 2 - forearm! ** 2) / (2 * upper! * forearm!);
    const elbow = Math.acos(Math.min(Math.max(cosine, -1), 1));
    const lead = Math.atan2(forearm! * Math.sin(elbow), upper! + forearm! * Math.cos(elbow));
    const goals = { base: Math.atan2(y, x), shoulder: Math.atan2(ahead, above) - lead, elbow };
    return Object.entries(goals).map(([joint, goal]) =>
      Math.min(Math.max(GAIN * (goal - read(`${joint}_angle`)), -high), high),
    );
  };
}
