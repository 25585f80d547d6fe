import type { RobotGrade, SlotObservation } from "./robot_bridge.ts";

interface Score {
  ended: boolean;
  total: number;
  success: boolean | null;
}

/** Keeps, for each slot, the rewards until the end of its episode, and whether it was a success. */
export class ScoreBoard {
  readonly #scores: Score[];

  constructor(count: number) {
    this.#scores = Array.from({ length: count }, blank);
  }

  /** A new batch has begun. */
  clear(): void {
    this.#scores.forEach((score) => Object.assign(score, blank()));
  }

  /** Takes in what a slot has seen. What comes after the end belongs to no episode. */
  add(index: number, { reward = 0, terminated, success }: SlotObservation): void {
    const score = this.#scores[index]!;
    if (score.ended) return;
    score.total += reward;
    if (!terminated) return;
    score.ended = true;
    score.success = success ?? null;
  }

  /** What a simulator said outranks rewards, which may be shaped; that it never said anything is not a failure. */
  grade(index: number): RobotGrade {
    const { success, total } = this.#scores[index]!;
    return { score: success === null ? total : Number(success), success, total_reward: total };
  }
}

function blank(): Score {
  return { ended: false, total: 0, success: null };
}
