import type { Protocol } from "@envport/wire";
import { RobotClient } from "./robot_client.ts";

/** The protocol, and a way to name the slot that a client drives. */
export interface RobotProtocol extends Protocol<RobotClient> {
  /**
   * The same protocol for one slot. Each call makes a new one, so that `client.open` connects anew for each episode.
   *
   * @param token What the environment gave the task: `bindings.robot.token` in the frame of its prompt.
   */
  slot(this: void, token: string): Protocol<RobotClient>;
}

/**
 * The protocol of the family `openpi`, for `client.open`. The task has to be started first: a bridge refuses agents while no
 * slot is claimed for a task.
 *
 * @example
 * ```ts
 * import { robot } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * assert.equal(robot.id, "openpi/0");
 * assert.equal(robot.slot("slot-0-c0ffee").id, "openpi/0");
 * ```
 */
export const robot: RobotProtocol = {
  family: "openpi",
  id: "openpi/0",
  connect: (capability, options) => RobotClient.connect(capability, { signal: options?.signal }),
  slot: (token) => ({
    family: "openpi",
    id: "openpi/0",
    connect: (capability, options) => RobotClient.connect(capability, { token, signal: options?.signal }),
  }),
};
