/**
 * Drive a served environment: connect, start a task, open its capabilities, grade the answer.
 *
 * @module
 */
export { Client } from "./client.ts";
export type { ClientEvents } from "./client.ts";
export type { ClientTlsOptions } from "./client_tls_options.ts";
export { connect } from "./connect.ts";
export type { ConnectOptions } from "./connect.ts";
export { forwardControlPort } from "./forward_control_port.ts";
export type { ControlPortForward, ForwardControlPortOptions } from "./forward_control_port.ts";
export type { Manifest } from "./manifest.ts";
export { Task } from "./task.ts";
export type { EvaluationResult, GradeOptions, TaskInfo } from "./task.ts";
