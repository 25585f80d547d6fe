import type { Protocol } from "@envport/wire";
import { SshClient } from "./ssh_client.ts";

/**
 * The protocol of the family `ssh`, for `client.open`.
 *
 * @example
 * ```ts
 * import { ssh } from "@envport/ssh";
 * import assert from "node:assert/strict";
 *
 * assert.equal(ssh.id, "ssh/2");
 * ```
 */
export const ssh: Protocol<SshClient> = {
  family: "ssh",
  id: "ssh/2",
  connect: (capability, options) => SshClient.connect(capability, { signal: options?.signal }),
};
