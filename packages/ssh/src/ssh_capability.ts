import type { Capability } from "@envport/wire";
import { normalizeUrl } from "@envport/wire";

/** What {@linkcode sshCapability} describes. */
export interface SshCapabilityOptions {
  /**
   * Unique within the environment.
   *
   * @default {"shell"}
   */
  name?: string | undefined;
  /** Where the server listens: `host`, `host:port`, `[::1]:port` or a whole `ssh://` URL. The default port is 22. */
  url: string;
  /**
   * The user to log in as.
   *
   * @default {"agent"}
   */
  user?: string | undefined;
  /** The server's public key in OpenSSH's one-line form, `ssh-ed25519 AAAA…`: what a client checks the server against. */
  hostPubkey: string;
  /** The content of a private key; logs in also across a container's boundary. */
  clientKey?: string | undefined;
  /** The path of a private key; works only where client and server share a file system. */
  clientKeyPath?: string | undefined;
  /**
   * The kind of shell behind the server: `bash`, `powershell` or `cmd`.
   *
   * @default {"cmd"} on Windows, else `"bash"`
   */
  shell?: string | undefined;
  /** The folder that commands start in. */
  cwd?: string | undefined;
  /** What separates the shell from the machine that serves it: `bwrap` or `none`. */
  isolation?: string | undefined;
}

/**
 * Describes an SSH server as a capability of the family `ssh/2`, with the parameters under their wire names. What is
 * not given is left out.
 *
 * @param options The server's address, its key, and how to log in.
 * @throws {TypeError} If the URL cannot be read, or `hostPubkey` is empty.
 *
 * @example
 * ```ts
 * import { sshCapability } from "@envport/ssh";
 * import assert from "node:assert/strict";
 *
 * const capability = sshCapability({ url: "127.0.0.1", hostPubkey: "ssh-ed25519 AAAA" });
 * assert.equal(capability.url, "ssh://127.0.0.1:22");
 * assert.equal(capability.params["user"], "agent");
 * ```
 */
export function sshCapability(options: SshCapabilityOptions): Capability {
  const { name = "shell", user = "agent", shell = process.platform === "win32" ? "cmd" : "bash" } = options;
  if (typeof options.hostPubkey !== "string" || options.hostPubkey.trim() === "") {
    throw new TypeError(
      `Cannot describe SSH server as 'hostPubkey' must be its public key: current value is ${JSON.stringify(options.hostPubkey)}`,
    );
  }
  const optional = {
    client_key: options.clientKey,
    client_key_path: options.clientKeyPath,
    cwd: options.cwd,
    isolation: options.isolation,
  };
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  return {
    name,
    protocol: "ssh/2",
    url: normalizeUrl(options.url, { scheme: "ssh", port: 22 }),
    params: { user, host_pubkey: options.hostPubkey.trim(), shell, ...Object.fromEntries(given) },
  };
}
