import type { JsonObject } from "@envport/wire";
import { EVALUATION } from "./_evaluation_frame.ts";

/** One measurement of an evaluation, or a group of them. */
export interface Subscore {
  name: string;
  /** 0 to 1. */
  value: number;
  /**
   * Share in the weighted average; negative = a penalty.
   *
   * @default {1}
   */
  weight?: number;
  /** The subscores that this one was made from. */
  children?: Subscore[];
  /** Details of the grader. */
  info?: JsonObject;
}

/** What {@linkcode evaluation} takes. */
export interface EvaluationInit {
  /** The score, usually 0 to 1. */
  reward: number;
  /** @default {true} */
  done?: boolean;
  /** An explanation for people. */
  content?: string;
  /** Anything else worth keeping. */
  info?: JsonObject;
  /**
   * The evaluation itself failed.
   *
   * @default {false}
   */
  isError?: boolean;
  subscores?: Subscore[];
}

/** An evaluation with more than a score; made by {@linkcode evaluation}. */
export interface Evaluation {
  readonly [EVALUATION]: JsonObject;
}

/**
 * Makes an evaluation for the second `yield` of a task, where a number does not say enough (TASK-5).
 *
 * @param init The score and what goes with it.
 * @throws {RangeError} If `reward` is not a finite number.
 *
 * @example
 * ```ts
 * import { Environment, evaluation } from "@envport/server";
 *
 * const env = new Environment({ name: "quiz" });
 * env.template("capital").run(async function* () {
 *   const answer = yield "What is the capital of Norway?";
 *   yield evaluation({ reward: answer === "Oslo" ? 1 : 0, content: `the answer was ${String(answer)}` });
 * });
 * ```
 */
export function evaluation(init: EvaluationInit): Evaluation {
  const { reward, done = true, content = null, info = {}, isError = false, subscores = null } = init;
  if (!Number.isFinite(reward)) {
    throw new RangeError(
      `Cannot make an evaluation as 'reward' must be a finite number: current value is ${String(reward)}`,
    );
  }
  return {
    [EVALUATION]: {
      done,
      content,
      info,
      isError,
      subscores: subscores?.map(fillSubscore) ?? null,
      score: reward,
    },
  };
}

function fillSubscore({ name, value, weight = 1, children, info }: Subscore): JsonObject {
  return { name, weight, value, children: children?.map(fillSubscore) ?? null, info: info ?? null };
}
