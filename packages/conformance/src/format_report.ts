import type { ModelResult, Report, RuleResult, ScenarioResult, Status } from "./report.ts";

const MARKS: Record<Status, string> = { pass: "pass", fail: "FAIL", "not-claimed": "-   " };

/** Options of {@linkcode formatReport}. */
export interface FormatReportOptions {
  /**
   * Whether each scenario is listed, not only those that failed.
   *
   * @default {false}
   */
  verbose?: boolean;
}

/**
 * A report as a table for people: a line for each rule, and under it each scenario that failed, with what was sent, what
 * the contract wants and what came.
 *
 * @param report What a bench returned.
 * @param options How much to tell.
 *
 * @example
 * ```ts
 * import { formatReport } from "@envport/conformance";
 * import assert from "node:assert/strict";
 *
 * const rule = { id: "SESS-3", sentence: "Ids are long", status: "pass", scenarios: [] } as const;
 * const text = formatReport({ side: "server", target: "tcp://127.0.0.1:8765", profile: "strict", rules: [rule], ok: true });
 * assert.match(text, /^pass {2}SESS-3 {4}Ids are long$/m);
 * ```
 */
export function formatReport(report: Report, { verbose = false }: FormatReportOptions = {}): string {
  const { side, target, profile, rules, model } = report;
  const lines = [`${side} ${target}, ${profile} profile`, ""];
  for (const rule of rules) lines.push(...formatRule(rule, verbose));
  if (model) lines.push(...formatModel(model));
  const count = (status: Status): string => String(rules.filter((rule) => rule.status === status).length);
  const failed = `${count("fail")} failed${model?.status === "fail" ? ", the model failed" : ""}`;
  lines.push("", `rules: ${count("pass")} passed, ${failed}, ${count("not-claimed")} not claimed`);
  return `${lines.join("\n")}\n`;
}

function formatRule({ id, sentence, status, reason, scenarios }: RuleResult, verbose: boolean): string[] {
  const why = reason === undefined ? "" : ` (${reason})`;
  const head = `${MARKS[status]}  ${id.padEnd(8)}  ${sentence}${why}`;
  return [head, ...scenarios.filter((one) => verbose || one.status === "fail").flatMap(formatScenario)];
}

function formatScenario({ name, status, reason, mismatch }: ScenarioResult): string[] {
  const head = `        ${MARKS[status].trim()}: ${name}`;
  if (!mismatch) return reason === undefined ? [head] : [head, `          ${reason}`];
  const { sent, expected, got } = mismatch;
  return [head, `          sent ${sent}`, `          expected ${expected}; got ${got}`];
}

function formatModel({ status, seed, runs, steps, reason, sequence }: ModelResult): string[] {
  const played = `${String(runs)} random sequences, ${String(steps)} steps, seed ${String(seed)}`;
  const head = `${MARKS[status]}  model     Sessions behave as the model of the table (${played})`;
  const numbered = (sequence ?? []).map((step, index) => `          ${String(index + 1)}. ${step}`);
  return [head, ...(reason === undefined ? [] : [`        ${reason}, after`]), ...numbered];
}
