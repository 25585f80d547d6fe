import { normalizeUrl } from "@envport/wire";
import type { Capability } from "@envport/wire";
import { checkContract } from "./_check_contract.ts";
import type { RobotContract } from "./robot_contract.ts";

/** What {@linkcode robotCapability} describes. */
export interface RobotCapabilityOptions {
  /**
   * Unique within the environment.
   *
   * @default {"robot"}
   */
  name?: string | undefined;
  /** Where the bridge listens: `host`, `host:port` or a whole `ws://` URL. The default port is 9091. */
  url: string;
  /** What the environment says of itself; it crosses the wire as it is. */
  contract: RobotContract;
}

/** Where nothing else is said. Bridges on a private socket are published under it. */
export const ROBOT_PORT = 9091;

/**
 * Describes a bridge to a robot as a capability of the family `openpi/0`.
 *
 * @param options The bridge's address, and its contract.
 * @throws {TypeError} If the URL cannot be read, or the contract breaks a rule.
 *
 * @example
 * ```ts
 * import { robotCapability } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * const contract = { control_rate: 20, features: { action: { role: "action", shape: [7] } } } as const;
 * const capability = robotCapability({ url: "127.0.0.1", contract });
 * assert.equal(capability.url, "ws://127.0.0.1:9091");
 * assert.deepEqual(capability.params, { contract });
 * ```
 */
export function robotCapability(options: RobotCapabilityOptions): Capability {
  const { name = "robot", url, contract } = options;
  checkContract(contract);
  return {
    name,
    protocol: "openpi/0",
    url: normalizeUrl(url, { scheme: "ws", port: ROBOT_PORT }),
    params: { contract },
  };
}
