/**
 * The control-channel contract as a bench for any server or client, in any language: every rule is a requirement with
 * scenarios, played over raw sockets.
 *
 * @module
 */
export { BenchError } from "./bench_error.ts";
export { runClientBench } from "./client_bench.ts";
export type { ClientBenchOptions } from "./client_bench.ts";
export type { ModelResult, Report, RuleResult, ScenarioResult, Status } from "./report.ts";
export type { Profile, Requirement, Rule, ScenarioInfo, Side, Source } from "./requirement.ts";
export { requirements } from "./requirements.ts";
export { runServerBench } from "./server_bench.ts";
export type { ServerBenchOptions } from "./server_bench.ts";
export { formatReport } from "./format_report.ts";
export type { FormatReportOptions } from "./format_report.ts";
