import type { Scenario } from "../_scenario.ts";
import { CALL_SCENARIOS } from "./call_scenarios.ts";
import { CONNECT_SCENARIOS } from "./connect_scenarios.ts";
import { CLIENT_FRAME_SCENARIOS } from "./frame_scenarios.ts";
import type { ClientStage } from "./stage.ts";
import { CLIENT_TUNNEL_SCENARIOS } from "./tunnel_scenarios.ts";

/** Everything that is tried on a client. */
export const CLIENT_SCENARIOS: readonly Scenario<ClientStage>[] = [
  ...CLIENT_FRAME_SCENARIOS,
  ...CONNECT_SCENARIOS,
  ...CALL_SCENARIOS,
  ...CLIENT_TUNNEL_SCENARIOS,
];
