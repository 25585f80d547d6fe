import { malformed, parseDType } from "./_dtype.ts";
import { decode } from "./decode.ts";
import type { FrameValue } from "./encode.ts";
import { NdArray } from "./nd_array.ts";
import type { TypedData } from "./nd_array.ts";
import { NumpyScalar } from "./numpy_scalar.ts";
import type { RobotObservation } from "./robot_observation.ts";

type Frame = Readonly<Record<string, FrameValue>>;

/** Whether a decoded value is a map. */
export function isFrame(value: FrameValue | undefined): value is Frame {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * Reads a frame as an observation.
 *
 * @throws {EnvportError} `invalid-value` If it is none.
 */
export function readObservation(bytes: Uint8Array): RobotObservation {
  const frame = decode(bytes);
  if (!isFrame(frame)) throw malformed("an observation must be a map", typeof frame);
  const { terminated = false, reward, meta, ...rest } = frame;
  const data: Record<string, NdArray> = {};
  const extra: Record<string, FrameValue> = {};
  for (const [name, value] of Object.entries(rest)) {
    if (value instanceof NdArray) data[name] = value;
    // A bridge that cuts a batch into slots makes scalars of vectors with one element.
    else if (value instanceof NumpyScalar) data[name] = single(value);
    else extra[name] = value;
  }
  return {
    data,
    terminated: truth(terminated),
    reward: number(reward),
    meta: isFrame(meta) ? meta : undefined,
    extra,
  };
}

function single({ value, dtype }: NumpyScalar): NdArray {
  const { array, size, kind } = parseDType(dtype);
  const elements = new array(new ArrayBuffer(size)) as TypedData;
  if (kind === "f2") return new NdArray(Float32Array.of(Number(value)), []);
  if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) elements[0] = BigInt(value);
  else elements[0] = Number(value);
  return new NdArray(elements, [], dtype);
}

function truth(value: FrameValue): boolean {
  if (typeof value === "boolean") return value;
  if (value instanceof NumpyScalar && typeof value.value === "boolean") return value.value;
  throw malformed("'terminated' must be a boolean", typeof value);
}

function number(value: FrameValue | undefined): number | undefined {
  if (value instanceof NumpyScalar) return Number(value.value);
  if (value instanceof NdArray && value.data.length === 1) return Number(value.toArray()[0]);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
}
