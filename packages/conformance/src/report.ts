import type { Profile, Side } from "./requirement.ts";

/** What became of a rule or scenario; `not-claimed` is no failure: it was not to be tried, or could not be here. */
export type Status = "pass" | "fail" | "not-claimed";

/** What became of one scenario. */
export interface ScenarioResult {
  readonly name: string;
  readonly status: Status;
  /** Why it failed, or why it was not tried. */
  readonly reason?: string;
  /** Of a failure: what was sent, what the contract wants, and what came. */
  readonly mismatch?: { readonly sent: string; readonly expected: string; readonly got: string };
}

/** What became of one rule. */
export interface RuleResult {
  readonly id: string;
  readonly sentence: string;
  readonly status: Status;
  /** Why nothing was tried. */
  readonly reason?: string;
  readonly scenarios: readonly ScenarioResult[];
}

/** What random sequences of calls have shown. */
export interface ModelResult {
  readonly status: "pass" | "fail";
  /** Brings the same sequences again. */
  readonly seed: number;
  /** Sequences that were played. */
  readonly runs: number;
  /** Steps in all of them. */
  readonly steps: number;
  readonly reason?: string;
  /** The shortest sequence that was found to fail. */
  readonly sequence?: readonly string[];
}

/** The result of a bench. */
export interface Report {
  readonly side: Side;
  /** The url, or the command. */
  readonly target: string;
  readonly profile: Profile;
  readonly rules: readonly RuleResult[];
  readonly model?: ModelResult;
  /** Whether nothing failed. */
  readonly ok: boolean;
}
