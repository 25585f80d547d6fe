/**
 * The `openpi/0` capability: robots and simulators as loops of observations and actions. A codec, a client for agents, and
 * for environments a bridge to a simulator and the endpoint that serves it.
 *
 * @module
 */
export { decode } from "./decode.ts";
export type { DecodeOptions } from "./decode.ts";
export { encode } from "./encode.ts";
export type { FrameValue } from "./encode.ts";
export { Float64 } from "./float64.ts";
export { NdArray } from "./nd_array.ts";
export type { DType, TypedData } from "./nd_array.ts";
export { NumpyScalar } from "./numpy_scalar.ts";
