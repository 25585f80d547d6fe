import { floats } from "./_action.ts";
import { isFrame } from "./_read_observation.ts";
import { decode } from "./decode.ts";
import type { FrameValue } from "./encode.ts";
import { NdArray } from "./nd_array.ts";

const MAX_VALUES = 10_000;

/**
 * Reads an agent's frame as one action.
 *
 * @param width How many numbers it must have.
 * @throws {Error} If it is none; the agent reads the message.
 */
export function readAction(bytes: Uint8Array, width: number): Float32Array {
  const frame = decode(bytes, { maxValues: MAX_VALUES });
  if (!isFrame(frame) || !Object.hasOwn(frame, "actions")) {
    throw new TypeError("Cannot take action as the frame must be a map with 'actions'");
  }
  const { actions } = frame;
  const list = actions instanceof NdArray ? actions : Array.isArray(actions) ? flat(actions) : undefined;
  if (!list) throw new TypeError("Cannot take action as 'actions' must be an array of numbers");
  const shape = shapeOf(actions);
  const data = floats(list);
  if (data.length === width) return data;
  const isChunk = shape.length > 1 && data.length > width && data.length % width === 0;
  throw new RangeError(
    isChunk
      ? `Cannot take a chunk of ${String(data.length / width)} actions as this environment waits for each one: send [${String(width)}] instead of [${shape.join(", ")}]`
      : `Cannot take action as it must have ${String(width)} numbers: current value has ${String(data.length)}`,
  );
}

/**
 * Reads an agent's first frame.
 *
 * @returns The token; null for the only slot that is claimed.
 * @throws {Error} If it is no claim.
 */
export function readClaim(bytes: Uint8Array): string | null {
  const frame = decode(bytes, { maxValues: MAX_VALUES });
  const claim = isFrame(frame) ? frame["claim"] : undefined;
  if (claim === null || typeof claim === "string") return claim;
  throw new TypeError('first frame must be {"claim": <token or None>}');
}

function flat(list: readonly unknown[]): number[] {
  return list.flat(8) as number[];
}

function shapeOf(value: FrameValue | undefined): readonly number[] {
  if (value instanceof NdArray) return value.shape;
  const shape: number[] = [];
  for (let item: unknown = value; Array.isArray(item); item = item[0]) shape.push(item.length);
  return shape;
}
