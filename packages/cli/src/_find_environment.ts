import type { Environment } from "@envport/server";
import { usage } from "./_failure.ts";
import { servesItself } from "./_load_module.ts";
import type { ModuleRef } from "./_module_ref.ts";

/**
 * Finds the environment among a module's exports: the named one, else the default one, else the only one.
 *
 * @param module Its exports.
 * @param ref Where they are from.
 * @throws {Failure} `usage` If there is none, or several.
 */
export function findEnvironment(module: Readonly<Record<string, unknown>>, ref: ModuleRef): Environment {
  const { shown, exportName } = ref;
  const names = Object.keys(module).filter((name) => isEnvironment(module[name]));
  if (exportName !== undefined) {
    const named = module[exportName];
    if (isEnvironment(named)) return named;
    throw usage(
      `Cannot serve ${JSON.stringify(`${shown}:${exportName}`)} as that is no Environment: ${list(names, shown)}`,
    );
  }
  const found = module["default"] ?? (names.length === 1 ? module[names[0]!] : undefined);
  if (isEnvironment(found)) return found;
  const reason = names.length > 1 ? "it exports several environments" : "it exports no Environment";
  throw usage(`Cannot serve ${JSON.stringify(shown)} as ${reason}: ${list(names, shown, ref.file)}`);
}

function list(names: readonly string[], shown: string, file?: string): string {
  if (names.length > 0) return `choose ${names.map((name) => `${shown}:${name}`).join(" or ")}`;
  const isProgram = file !== undefined && servesItself(file);
  return `add 'export default env;'${isProgram ? " in place of its own call of serve(), or run it with node" : ", env being a new Environment() of @envport/server"}`;
}

/** By its shape, since the module may use another copy of the package than this one. */
function isEnvironment(value: unknown): value is Environment {
  if (typeof value !== "object" || value === null) return false;
  const { templates, start, toBindings } = value as Partial<Environment>;
  return templates instanceof Map && typeof start === "function" && typeof toBindings === "function";
}
