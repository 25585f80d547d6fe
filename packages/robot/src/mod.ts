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
export { robot } from "./robot.ts";
export type { RobotProtocol } from "./robot.ts";
export { ROBOT_PORT, robotCapability } from "./robot_capability.ts";
export type { RobotCapabilityOptions } from "./robot_capability.ts";
export { RobotClient } from "./robot_client.ts";
export type {
  PolicyAnswer,
  RobotAction,
  RobotConnectOptions,
  RobotPolicy,
  RobotRunOptions,
  RobotRunResult,
  SendChunkOptions,
} from "./robot_client_options.ts";
export type { RobotContract, RobotFeature, RobotFeatureRole, RobotFeatureStats } from "./robot_contract.ts";
export type { RobotObservation } from "./robot_observation.ts";
export { robotSpaces } from "./robot_spaces.ts";
export type { RobotSpaces } from "./robot_spaces.ts";
export type { Await, RobotBridge, RobotGrade, SlotObservation } from "./robot_bridge.ts";
export type { RobotBridgeOptions } from "./robot_bridge_options.ts";
export { RobotEndpoint } from "./robot_endpoint.ts";
export type {
  RobotAttachOptions,
  RobotEndpointOptions,
  RobotEpisode,
  RobotLocalOptions,
  RobotResetOptions,
  RobotSpawnOptions,
  RobotWorkerOptions,
} from "./robot_endpoint_options.ts";
export { serveBridge } from "./serve_bridge.ts";
export type { ServeBridgeOptions, ServedBridge } from "./serve_bridge.ts";
export { gym } from "./gym.ts";
export type { GymOptions } from "./gym.ts";
export type {
  ActionSpace,
  AutoresetMode,
  BoxSpace,
  DiscreteSpace,
  GymEnv,
  GymInfo,
  GymObservation,
  GymResetOptions,
  MultiDiscreteSpace,
  PerEnv,
  VectorGymEnv,
} from "./gym_env.ts";
