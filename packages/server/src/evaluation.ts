import type { JsonObject } from "@envport/wire";
import { isJsonObject, own } from "@envport/wire";

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

const BRAND: unique symbol = Symbol.for("envport.evaluation") as never;

/** An evaluation with more than a score; made by {@linkcode evaluation}. */
export interface Evaluation {
  readonly [BRAND]: JsonObject;
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
    [BRAND]: { done, content, info, isError, subscores: subscores?.map(fillSubscore) ?? null, score: reward },
  };
}

function fillSubscore({ name, value, weight = 1, children, info }: Subscore): JsonObject {
  return { name, weight, value, children: children?.map(fillSubscore) ?? null, info: info ?? null };
}

/**
 * The evaluation frame of what a task yielded second (TASK-5).
 *
 * @param value What the task yielded.
 * @param taskId What the error calls the task.
 * @throws {TypeError} If it is none of the forms that TASK-5 names, or the score is not finite.
 */
export function evaluationFrame(value: unknown, taskId: string): JsonObject {
  const frame = toFrame(value, taskId);
  const { score } = frame;
  if (typeof score === "number" && Number.isFinite(score)) return frame;
  throw new TypeError(
    `task '${taskId}' graded with a score that is not a finite number (${String(score)}): yield a number`,
  );
}

function toFrame(value: unknown, taskId: string): JsonObject {
  if (typeof value === "number") return { score: value };
  if (typeof value === "boolean") return { score: value ? 1 : 0 };
  if (!isJsonObject(value)) {
    const what = value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
    throw new TypeError(
      `task '${taskId}' graded with ${what}: yield a number, a boolean, an object with a numeric 'score', or evaluation({reward})`,
    );
  }
  if (BRAND in value) return (value as unknown as Evaluation)[BRAND];
  if (typeof own(value, "score") !== "number") {
    const keys = Object.keys(value).join(", ");
    throw new TypeError(
      `task '${taskId}' graded with an object without a numeric 'score' (keys: ${keys}): yield a number or evaluation({reward})`,
    );
  }
  return value;
}
