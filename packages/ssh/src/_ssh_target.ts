import type { Capability } from "@envport/wire";
import { EnvportError, own, parseCapabilityUrl } from "@envport/wire";
import { readFile } from "node:fs/promises";

/** The parts of a binding of the family `ssh/2` that a connection needs. */
export interface SshTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** The algorithm of the server's key: `ssh-ed25519`. */
  readonly hostKeyType: string;
  /** The server's public key in SSH's binary form. */
  readonly hostKey: Buffer;
  readonly clientKey: string | undefined;
  readonly clientKeyPath: string | undefined;
  readonly shell: string;
  readonly cwd: string | undefined;
}

const PUBLIC_KEY = /(?:^|\s)(ssh-[\w-]+|ecdsa-sha2-[\w-]+)\s+([A-Za-z0-9+/]+={0,2})(?:\s|$)/;

/**
 * Reads a binding.
 *
 * @param capability What the environment published.
 * @throws {EnvportError} `invalid-value` If it is no ssh binding, or does not name the server's key.
 */
export function sshTarget(capability: Capability): SshTarget {
  if (!capability.protocol.startsWith("ssh/")) throw wrong(capability, "protocol", capability.protocol);
  const { host, port = 22 } = parseCapabilityUrl(capability.url);
  const text = (key: string): string | undefined => {
    const value = own(capability.params, key) ?? undefined;
    if (value !== undefined && typeof value !== "string") throw wrong(capability, key, value);
    return value === "" ? undefined : value;
  };
  const [, hostKeyType, encoded] = PUBLIC_KEY.exec(text("host_pubkey") ?? "") ?? [];
  if (hostKeyType === undefined || encoded === undefined) {
    throw wrong(capability, "host_pubkey", own(capability.params, "host_pubkey"));
  }
  return {
    host,
    port,
    user: text("user") ?? "agent",
    hostKeyType,
    hostKey: Buffer.from(encoded, "base64"),
    clientKey: text("client_key"),
    clientKeyPath: text("client_key_path"),
    shell: text("shell") ?? "bash",
    cwd: text("cwd"),
  };
}

/**
 * The private key to log in with; its content goes before its path.
 *
 * @param target The binding that names it.
 * @throws {EnvportError} `authentication-failed` If there is none, or it cannot be read here.
 */
export async function privateKey(target: SshTarget): Promise<string> {
  if (target.clientKey !== undefined) return target.clientKey;
  if (target.clientKeyPath === undefined) {
    throw new EnvportError("authentication-failed", "Cannot log in as the binding names no client key");
  }
  try {
    return await readFile(target.clientKeyPath, "utf8");
  } catch (error) {
    throw new EnvportError(
      "authentication-failed",
      `Cannot log in as the client key must be readable here: current value is '${target.clientKeyPath}'`,
      { cause: error },
    );
  }
}

function wrong(capability: Capability, key: string, value: unknown): EnvportError {
  return new EnvportError(
    "invalid-value",
    `Cannot use binding '${capability.name}' as its '${key}' is not that of an SSH server: current value is ${JSON.stringify(value)}`,
  );
}
