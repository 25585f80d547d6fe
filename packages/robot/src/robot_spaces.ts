import { isJsonObject } from "@envport/wire";
import type { RobotFeature } from "./robot_contract.ts";

/** A contract's features by what they are for. */
export interface RobotSpaces {
  /** The action; undefined if the environment declares none. */
  readonly action: ({ readonly name: string } & RobotFeature) | undefined;
  /** How many numbers an action has, by the shape of its feature, else its names; undefined if it has neither. */
  readonly actionWidth: number | undefined;
  /** What an observation holds, in order of declaration. */
  readonly observations: Readonly<Record<string, RobotFeature>>;
}

/**
 * Splits a contract's features by role. It takes contracts of peers as they are: what is no feature is left out.
 *
 * @param contract A contract, or whatever a peer published as one.
 *
 * @example
 * ```ts
 * import { robotSpaces } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * const { action, actionWidth, observations } = robotSpaces({
 *   features: { state: { role: "observation", names: ["x"] }, action: { role: "action", shape: [2] } },
 * });
 * assert.equal(action?.name, "action");
 * assert.equal(actionWidth, 2);
 * assert.deepEqual(Object.keys(observations), ["state"]);
 * ```
 */
export function robotSpaces(contract: unknown): RobotSpaces {
  const features = isJsonObject(contract) && isJsonObject(contract["features"]) ? contract["features"] : {};
  const entries = Object.entries(features).filter((entry): entry is [string, RobotFeature] =>
    isJsonObject(entry[1]),
  );
  const action = entries.find(([, { role }]) => role === "action");
  return {
    action: action && { ...action[1], name: action[0] },
    actionWidth: action && widthOf(action[1]),
    observations: Object.fromEntries(entries.filter(([, { role }]) => role === "observation")),
  };
}

/** How many numbers an action has: by the shape, else the names of its feature. */
function widthOf({ shape, names }: RobotFeature): number | undefined {
  if (Array.isArray(shape) && shape.length > 0) {
    const width = (shape as number[]).reduce((product, dimension) => product * dimension, 1);
    return Number.isSafeInteger(width) && width > 0 ? width : undefined;
  }
  return Array.isArray(names) && names.length > 0 ? names.length : undefined;
}
