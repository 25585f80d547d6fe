import type { JsonObject } from "@envport/wire";
import { isJsonObject, own } from "@envport/wire";
import type { Evaluation } from "./evaluation.ts";

/** The member that holds the frame of what `evaluation()` has made. */
export const EVALUATION: unique symbol = Symbol.for("envport.evaluation") as never;

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
  if (EVALUATION in value) return (value as unknown as Evaluation)[EVALUATION];
  if (typeof own(value, "score") !== "number") {
    const keys = Object.keys(value).join(", ");
    throw new TypeError(
      `task '${taskId}' graded with an object without a numeric 'score' (keys: ${keys}): yield a number or evaluation({reward})`,
    );
  }
  return value;
}
