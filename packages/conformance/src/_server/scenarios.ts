import type { Scenario } from "../_scenario.ts";
import { ADOPTION_SCENARIOS } from "./adoption_scenarios.ts";
import { BAD_FRAME_SCENARIOS } from "./bad_frame_scenarios.ts";
import { CONNECTION_SCENARIOS } from "./conn_scenarios.ts";
import { CONTROL_SCENARIOS } from "./control_scenarios.ts";
import { ERROR_SCENARIOS } from "./error_scenarios.ts";
import { FRAME_SCENARIOS } from "./frame_scenarios.ts";
import { GRADE_SCENARIOS } from "./grade_scenarios.ts";
import { SESSION_SCENARIOS } from "./session_scenarios.ts";
import type { ServerStage } from "./stage.ts";
import { START_SCENARIOS } from "./task_scenarios.ts";
import { TUNNEL_SCENARIOS } from "./tunnel_scenarios.ts";

/** Everything that is tried on a server. */
export const SERVER_SCENARIOS: readonly Scenario<ServerStage>[] = [
  ...CONNECTION_SCENARIOS,
  ...FRAME_SCENARIOS,
  ...BAD_FRAME_SCENARIOS,
  ...ERROR_SCENARIOS,
  ...SESSION_SCENARIOS,
  ...ADOPTION_SCENARIOS,
  ...START_SCENARIOS,
  ...GRADE_SCENARIOS,
  ...CONTROL_SCENARIOS,
  ...TUNNEL_SCENARIOS,
];
