import type { Client } from "@envport/client";
import { solveArm } from "./arm/agent.ts";
import { solveDesktop } from "./desktop/agent.ts";
import type { Journal } from "./journal.ts";
import { solveRepair } from "./repair/agent.ts";
import { solveTogether } from "./together/agent.ts";
import { solveTools } from "./tools/agent.ts";
import { solveWeb } from "./web/agent.ts";
import { solveWebByPlaywright } from "./web/playwright_agent.ts";

/** A task of the reference environment, seen from the agent's side. */
export interface ReferenceTask {
  id: string;
  /**
   * What the report calls it.
   *
   * @default the id
   */
  name?: string;
  /** The protocol families that it needs. */
  capabilities: readonly string[];
  /** Solves it through its capabilities alone, notes what it does, and returns the answer. */
  solve(this: void, client: Client, prompt: string, journal: Journal): Promise<unknown>;
}

/** Every task, in the order in which they are run. */
export const TASKS: readonly ReferenceTask[] = [
  { id: "repair", capabilities: ["ssh"], solve: solveRepair },
  { id: "tools", capabilities: ["mcp"], solve: solveTools },
  { id: "web", capabilities: ["cdp"], solve: solveWeb },
  { id: "web", name: "web-playwright", capabilities: ["cdp"], solve: solveWebByPlaywright },
  { id: "desktop", capabilities: ["rfb"], solve: solveDesktop },
  { id: "arm", capabilities: ["robot"], solve: solveArm },
  { id: "together", capabilities: ["ssh", "mcp", "cdp"], solve: solveTogether },
];
