import { cdp } from "./cdp.ts";
import { filetracking } from "./filetracking.ts";
import { mcp } from "./mcp.ts";
import { quiz } from "./quiz.ts";
import { rfb } from "./rfb.ts";
import { robot } from "./robot.ts";
import { ssh } from "./ssh.ts";
import type { Template } from "./template.ts";

/** What `envport init --with` offers; the next capability is one file and one line here. */
export const TEMPLATES: readonly Template[] = [ssh, filetracking, mcp, cdp, rfb, robot, quiz];

/** What is made if nothing else is asked for. */
export const DEFAULT_TEMPLATES: readonly string[] = ["ssh", "filetracking"];
