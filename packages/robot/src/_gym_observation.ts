import type { GymInfo, GymObservation, PerEnv } from "./gym_env.ts";
import { NdArray } from "./nd_array.ts";

/** Where environments say whether the task is done, in the order in which they are looked at. */
const SUCCESS_KEYS = ["success", "is_success", "task_success"] as const;

/** Nested observations by names with slashes; one that is no object is called `obs`. */
export function flatten(observation: GymObservation, prefix = ""): Record<string, NdArray> {
  if (isNested(observation)) {
    const parts = Object.entries(observation).map(([key, value]) =>
      flatten(value, prefix === "" ? key : `${prefix}/${key}`),
    );
    return Object.assign({}, ...parts) as Record<string, NdArray>;
  }
  return { [prefix === "" ? "obs" : prefix]: toArray(observation, prefix) };
}

function isNested(value: GymObservation): value is { readonly [key: string]: GymObservation } {
  return (
    typeof value === "object" &&
    (value as unknown) !== null &&
    !(value instanceof NdArray) &&
    !ArrayBuffer.isView(value)
  );
}

function toArray(value: GymObservation, name: string): NdArray {
  if (value instanceof NdArray) return value;
  if (ArrayBuffer.isView(value)) return new NdArray(value);
  if (typeof value === "number") return new NdArray(Float32Array.of(value));
  if (typeof value === "boolean") return new NdArray(Uint8Array.of(Number(value)), [1], "|b1");
  throw new TypeError(
    `Cannot read observation '${name || "obs"}' as it must be an NdArray, a typed array, a number or an object of these: current value is ${typeof value}`,
  );
}

/** The arrays of one world: what has no dimension gets one. */
export function ofSingle(observation: GymObservation): Record<string, NdArray> {
  return mapValues(flatten(observation), (array) =>
    array.shape.length === 0 ? withShape(array, [1]) : array,
  );
}

/**
 * The arrays of each world of a vectorized environment, by its statement of how many there are, not by guesses.
 *
 * @throws {RangeError} If the first dimension of one is not that.
 */
export function ofEach(observations: GymObservation, numEnvs: number): Record<string, NdArray>[] {
  const flat = flatten(observations);
  for (const [name, array] of Object.entries(flat)) {
    if (array.shape[0] === numEnvs) continue;
    throw new RangeError(
      `Cannot read observation '${name}' as its first dimension must be the ${String(numEnvs)} worlds: current value is [${array.shape.join(", ")}]`,
    );
  }
  return Array.from({ length: numEnvs }, (_, index) =>
    mapValues(flat, (array) => {
      const row = array.row(index);
      return row.shape.length === 0 ? withShape(row, [1]) : row;
    }),
  );
}

function withShape(array: NdArray, shape: readonly number[]): NdArray {
  return new NdArray(array.data, shape, array.dtype);
}

function mapValues<T, U>(object: Record<string, T>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

/** Whether one world says that the task is done; undefined if it says nothing. */
export function successOf(info: GymInfo): boolean | undefined {
  for (const key of SUCCESS_KEYS) {
    const value = info[key];
    if (value !== undefined && value !== null) return Boolean(at(value, 0) ?? value);
  }
  return undefined;
}

/** The same of each world; `_key` is the mask of those that say something, and the end of a world says it in `final_info`. */
export function successesOf(info: GymInfo, index: number): boolean | undefined {
  const final = info["final_info"];
  if (Array.isArray(final)) {
    const own: unknown = final[index];
    if (typeof own === "object" && own !== null) return successOf(own as GymInfo);
  } else if (typeof final === "object" && final !== null) {
    const found = successesOf({ ...(final as GymInfo), final_info: undefined }, index);
    if (found !== undefined) return found;
  }
  for (const key of SUCCESS_KEYS) {
    const mask = info[`_${key}`];
    if (mask !== undefined && !Boolean(at(mask, index))) continue;
    const value = at(info[key], index);
    if (value !== undefined && value !== null) return Boolean(value);
  }
  return undefined;
}

/** The value of one world. */
export function each(values: PerEnv<unknown>, index: number): unknown {
  return at(values, index);
}

function at(values: unknown, index: number): unknown {
  if (values instanceof NdArray) return (values as NdArray).data[index];
  if (Array.isArray(values)) return values[index];
  return ArrayBuffer.isView(values) ? (values as unknown as ArrayLike<unknown>)[index] : undefined;
}
