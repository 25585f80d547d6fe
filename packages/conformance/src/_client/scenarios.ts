import type { Scenario } from "../_scenario.ts";

/** Everything that is tried on a client. */
export const CLIENT_SCENARIOS: readonly Scenario<never>[] = [];
