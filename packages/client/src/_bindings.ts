import type { Capability } from "@envport/wire";
import { EnvportError, protocolFamily } from "@envport/wire";

/**
 * Finds a binding by its name, else by its protocol or its protocol's family (CLI-2).
 *
 * @param bindings What the environment publishes.
 * @param ref `"shell"`, `"ssh/2"` or `"ssh"`.
 * @throws {EnvportError} If none matches (`unknown-binding`) or several do (`ambiguous-binding`); they are listed.
 */
export function findBinding(bindings: readonly Capability[], ref: string): Capability {
  const named = bindings.filter(({ name }) => name === ref);
  if (named.length > 0) return only(named, bindings, ref);
  const matches = bindings.filter(({ protocol }) => [protocol, protocolFamily(protocol)].includes(ref));
  return only(matches, bindings, ref);
}

/**
 * Finds the binding that speaks a family of protocols, whatever the bindings are called.
 *
 * @param bindings What the environment publishes.
 * @param family The part of the protocol id before the slash.
 * @throws {EnvportError} If none matches (`unknown-binding`) or several do (`ambiguous-binding`); they are listed.
 */
export function findBindingOfFamily(bindings: readonly Capability[], family: string): Capability {
  return only(
    bindings.filter(({ protocol }) => protocolFamily(protocol) === family),
    bindings,
    family,
  );
}

function only(matches: readonly Capability[], all: readonly Capability[], ref: string): Capability {
  if (matches.length === 1) return matches[0]!;
  if (matches.length > 1) {
    const message = `Cannot choose binding '${ref}' as several match: ${list(matches)}. Name one`;
    throw new EnvportError("ambiguous-binding", message);
  }
  throw new EnvportError("unknown-binding", `Cannot find binding '${ref}': available are ${list(all)}`);
}

function list(bindings: readonly Capability[]): string {
  return bindings.map(({ name, protocol }) => `${name} (${protocol})`).join(", ") || "none";
}
