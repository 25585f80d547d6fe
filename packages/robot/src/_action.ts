import { NdArray } from "./nd_array.ts";
import type { RobotAction } from "./robot_client_options.ts";

/**
 * An action as it goes over the wire: 32-bit floats.
 *
 * @param width How many numbers it must have, if that is known.
 * @throws {TypeError} If it is no list of numbers.
 * @throws {RangeError} If a number is not finite, or there are too few or too many.
 */
export function toAction(action: RobotAction, width: number | undefined): NdArray<Float32Array> {
  const shape = action instanceof NdArray ? action.shape : [action.length];
  const data = floats(action);
  if (action instanceof NdArray ? data.length === 0 : data.length !== action.length) {
    throw new TypeError(`Cannot send action as it must be a list of numbers: current value is empty`);
  }
  if (width !== undefined && data.length !== width) {
    throw new RangeError(
      `Cannot send action as it must have ${String(width)} numbers: current value has ${String(data.length)}`,
    );
  }
  return new NdArray(data, shape);
}

/**
 * A chunk as it goes over the wire: rows of 32-bit floats.
 *
 * @throws {TypeError} If it is no list of actions.
 * @throws {RangeError} If its rows are not equally long, or a number is not finite.
 */
export function toChunk(
  chunk: NdArray | readonly ArrayLike<number>[],
  width: number | undefined,
): NdArray<Float32Array> {
  if (chunk instanceof NdArray) {
    if (chunk.shape.length !== 2 || chunk.data.length === 0) {
      throw new RangeError(
        `Cannot send chunk as it must have two dimensions, actions and their numbers: current value is [${chunk.shape.join(", ")}]`,
      );
    }
    const rows = Array.from({ length: chunk.shape[0]! }, (_, index) => toAction(chunk.row(index), width));
    return join(rows);
  }
  if (!Array.isArray(chunk) || chunk.length === 0) {
    throw new TypeError("Cannot send chunk as it must be a list of actions: current value is empty");
  }
  const rows = (chunk as readonly ArrayLike<number>[]).map((row) => toAction(row, width));
  const ragged = rows.find(({ data }) => data.length !== rows[0]!.data.length);
  if (ragged) {
    throw new RangeError(
      `Cannot send chunk as its actions must be equally long: current value has ${String(rows[0]!.data.length)} and ${String(ragged.data.length)} numbers`,
    );
  }
  return join(rows);
}

function join(rows: readonly NdArray<Float32Array>[]): NdArray<Float32Array> {
  const width = rows[0]!.data.length;
  const data = new Float32Array(rows.length * width);
  rows.forEach((row, index) => {
    data.set(row.data, index * width);
  });
  return new NdArray(data, [rows.length, width]);
}

/**
 * The numbers of a value as 32-bit floats, in memory of their own.
 *
 * @throws {TypeError} If one is no number.
 * @throws {RangeError} If one is not finite.
 */
export function floats(values: RobotAction): Float32Array {
  const list: ArrayLike<unknown> = values instanceof NdArray ? values.toArray() : values;
  const data = new Float32Array(list.length);
  for (let index = 0; index < data.length; index++) {
    const value = list[index];
    if (typeof value !== "number" && typeof value !== "bigint" && typeof value !== "boolean") {
      throw new TypeError(
        `Cannot send action as it must be a list of numbers: current value at ${String(index)} is ${typeof value}`,
      );
    }
    data[index] = Number(value);
    if (!Number.isFinite(data[index])) {
      throw new RangeError(
        `Cannot send action as its numbers must be finite: current value at ${String(index)} is ${String(value)}`,
      );
    }
  }
  return data;
}
