import type { Capability } from "@envport/wire";
import { EnvportError, protocolFamily } from "@envport/wire";

/**
 * Finds a binding by its name, its protocol or its protocol's family (CLI-2).
 *
 * @param bindings What the environment publishes.
 * @param ref `"shell"`, `"ssh/2"` or `"ssh"`.
 * @throws {EnvportError} If none matches (`unknown-binding`) or several do (`ambiguous-binding`); they are listed.
 */
export function findBinding(bindings: readonly Capability[], ref: string): Capability {
  const matches = bindings.filter(({ name, protocol }) => [name, protocol, protocolFamily(protocol)].includes(ref));
  if (matches.length === 1) return matches[0]!;
  if (matches.length > 1) {
    throw new EnvportError("ambiguous-binding", `Cannot choose binding '${ref}' as several match: ${list(matches)}. Name one`);
  }
  throw new EnvportError("unknown-binding", `Cannot find binding '${ref}': available are ${list(bindings)}`);
}

function list(bindings: readonly Capability[]): string {
  return bindings.map(({ name, protocol }) => `${name} (${protocol})`).join(", ") || "none";
}
