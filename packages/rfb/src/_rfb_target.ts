import type { Capability, PublishedCapability } from "@envport/wire";
import { EnvportError, own, parseCapabilityUrl } from "@envport/wire";
import type { NetConnectOpts } from "node:net";

/** Which server it is, as far as its ways differ. */
export type ServerKind = "tigervnc" | "x11vnc" | "qemu";

/** The parts of a binding of the family `rfb` that a connection needs. */
export interface RfbTarget {
  readonly name: string;
  readonly address: NetConnectOpts;
  readonly password: string | undefined;
  /** As the binding says; undefined if it does not. */
  readonly kind: ServerKind | undefined;
  /** How many different characters beyond Latin-1 the server can make keys for. */
  readonly keyBudget: number;
}

/** An X server has about 19 spare keys, and not all servers ever give one back. */
const KEY_BUDGET = 12;
const KINDS: readonly unknown[] = ["tigervnc", "x11vnc", "qemu"];

/**
 * Reads a binding. One that this process publishes itself is dialled where its daemon listens.
 *
 * @throws {EnvportError} `invalid-value` If it is no rfb binding.
 */
export function rfbTarget(capability: Capability | PublishedCapability): RfbTarget {
  const { name, params } = capability;
  if (!capability.protocol.startsWith("rfb/")) throw wrong(name, "protocol", capability.protocol);
  const { host, port = 5900 } = parseCapabilityUrl(capability.url);
  const password = own(params, "password") ?? undefined;
  if (password !== undefined && typeof password !== "string") throw wrong(name, "password", "no text");
  const budget = own(params, "key_budget");
  const kind = own(params, "server");
  return {
    name,
    address: "dial" in capability ? capability.dial : { host, port },
    password,
    kind: KINDS.includes(kind) ? (kind as ServerKind) : undefined,
    keyBudget: typeof budget === "number" && budget >= 0 ? budget : KEY_BUDGET,
  };
}

/** Where it is, for people. */
export function describeAddress({ address }: RfbTarget): string {
  return "path" in address ? "its socket" : `${String(address.host)}:${String(address.port)}`;
}

function wrong(name: string, key: string, value: unknown): EnvportError {
  return new EnvportError(
    "invalid-value",
    `Cannot use binding '${name}' as its '${key}' is not that of a VNC server: current value is ${JSON.stringify(value)}`,
  );
}
