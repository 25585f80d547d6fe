/**
 * Serve an agent's environment over one port: declare tasks and services, and put them on the wire.
 *
 * @module
 */
export type { AccessTokens, Role } from "./access_tokens.ts";
export type { Answer } from "./answer.ts";
export { Environment } from "./environment.ts";
export type { EnvironmentOptions, Hook, InitializeHook, TaskEndHook, UseOptions } from "./environment.ts";
export { evaluation } from "./evaluation.ts";
export type { Evaluation, EvaluationInit, Subscore } from "./evaluation.ts";
export { consoleLogger } from "./logger.ts";
export type { ConsoleLoggerOptions, LogLevel, Logger } from "./logger.ts";
export type { Schema, SchemaOutput } from "./schema.ts";
export { serve } from "./serve.ts";
export type { ServeOptions, Server, ServerEvents, ServerStats, ServerTlsOptions } from "./serve.ts";
export type { StreamStats } from "./_stream_counter.ts";
export type {
  ArgsOf,
  ReceivedOf,
  TaskContext,
  TaskFunction,
  TaskTimeouts,
  Template,
  TemplateBuilder,
  TemplateOptions,
} from "./template.ts";
