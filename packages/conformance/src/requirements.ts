import { CLIENT_SCENARIOS } from "./_client/scenarios.ts";
import { CLIENT_RULES } from "./_rules/cli.ts";
import { CONNECTION_RULES } from "./_rules/conn.ts";
import { FRAME_RULES } from "./_rules/frame.ts";
import { SESSION_RULES } from "./_rules/sess.ts";
import { TASK_RULES, TUNNEL_RULES } from "./_rules/task.ts";
import type { Scenario } from "./_scenario.ts";
import { SERVER_SCENARIOS } from "./_server/scenarios.ts";
import type { Requirement, Rule, ScenarioInfo, Side } from "./requirement.ts";

const RULES: readonly Rule[] = [
  ...CONNECTION_RULES,
  ...FRAME_RULES,
  ...SESSION_RULES,
  ...TASK_RULES,
  ...TUNNEL_RULES,
  ...CLIENT_RULES,
];

function infos(rule: Rule, side: Side, scenarios: readonly Scenario<never>[]): ScenarioInfo[] {
  return scenarios
    .filter((scenario) => scenario.rule === rule.id)
    .map(({ name, source = rule.source }) => ({ side, name, source }));
}

/** Every rule of the contract, in its order, with what is tried to see whether it holds. */
export const requirements: readonly Requirement[] = RULES.map((rule) => ({
  ...rule,
  scenarios: [...infos(rule, "server", SERVER_SCENARIOS), ...infos(rule, "client", CLIENT_SCENARIOS)],
}));
