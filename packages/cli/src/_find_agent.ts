import { usage } from "./_failure.ts";
import type { ModuleRef } from "./_module_ref.ts";
import type { Agent } from "./agent.ts";

/**
 * Finds the agent among a module's exports: the named one, else the default one, else the one named `agent`, else the
 * only function.
 *
 * @throws {Failure} `usage`
 */
export function findAgent(
  module: Readonly<Record<string, unknown>>,
  { shown, exportName }: ModuleRef,
): Agent {
  const names = Object.keys(module).filter((name) => typeof module[name] === "function");
  const only = names.length === 1 ? names[0] : undefined;
  const name = exportName ?? ["default", "agent"].find((candidate) => names.includes(candidate)) ?? only;
  const found = name === undefined ? undefined : module[name];
  if (typeof found === "function") return found as Agent;
  const choice =
    names.length > 0
      ? `choose ${names.map((one) => `${shown}:${one}`).join(" or ")}`
      : "add 'export default async function (client, task) { … return answer; }'";
  const what = exportName === undefined ? shown : `${shown}:${exportName}`;
  throw usage(`Cannot use --agent ${JSON.stringify(what)} as it exports no such function: ${choice}`);
}
