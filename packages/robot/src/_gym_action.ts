import { NdArray } from "./nd_array.ts";
import type { TypedData } from "./nd_array.ts";
import type { ActionSpace } from "./gym_env.ts";

/** numpy's names of what an action may hold. */
const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
} as const;

/** The shape of one action; a single choice has none. */
export function actionShape(space: ActionSpace): readonly number[] {
  if (space.type === "box") return space.shape;
  return space.type === "discrete" ? [] : [space.nvec.length];
}

/** How many numbers an action is on the wire. */
export function actionSize(space: ActionSpace): number {
  return actionShape(space).reduce((product, dimension) => product * dimension, 1);
}

/**
 * Checks what a program wrote.
 *
 * @throws {TypeError} If the space is none that a bridge can offer.
 */
export function checkSpace(space: ActionSpace): void {
  const { type } = space as { type: unknown };
  if (type === "box") {
    const { dtype = "float32" } = space as { dtype?: string };
    if (dtype in ARRAYS && actionSize(space) > 0) return;
  } else if (type === "discrete" || type === "multi-discrete") {
    const counts = choices(space);
    if (counts.length > 0 && counts.every((count) => Number.isSafeInteger(count) && count > 0)) return;
  }
  throw new TypeError(
    `Cannot use action space as it must be a box, discrete or multi-discrete one with something in it: current value is ${JSON.stringify(space)}`,
  );
}

/**
 * Checks the choices of one agent.
 *
 * @throws {RangeError} If one is not there.
 */
export function checkChoices(space: ActionSpace, action: Float32Array): void {
  if (space.type === "box") return;
  const start = startOf(space);
  choices(space).forEach((count, index) => {
    const value = action[index]!;
    if (Number.isInteger(value) && value >= start && value < start + count) return;
    throw new RangeError(
      `Cannot take action as number ${String(index)} must be one of the choices ${String(start)} to ${String(start + count - 1)}: current value is ${String(value)}`,
    );
  });
}

/** An action that holds still: zeros, or the first choice. */
export function holdStill(space: ActionSpace): Float32Array {
  return new Float32Array(actionSize(space)).fill(startOf(space));
}

/** The action of one world, as an environment takes it. */
export function toGymAction(space: ActionSpace, row: Float32Array): number | NdArray {
  if (space.type === "discrete") return row[0]!;
  return new NdArray(elements(space, row), actionShape(space));
}

/** The actions of all worlds, as an environment takes them. */
export function toGymActions(space: ActionSpace, rows: NdArray<Float32Array>): NdArray {
  return new NdArray(elements(space, rows.data), [rows.shape[0]!, ...actionShape(space)]);
}

function elements(space: ActionSpace, data: Float32Array): TypedData {
  const dtype = space.type === "box" ? (space.dtype ?? "float32") : "int32";
  return ARRAYS[dtype as keyof typeof ARRAYS].from(data);
}

function startOf(space: ActionSpace): number {
  return space.type === "discrete" ? (space.start ?? 0) : 0;
}

function choices(space: ActionSpace): readonly number[] {
  if (space.type === "box") return [];
  return space.type === "discrete" ? [space.n] : space.nvec;
}
