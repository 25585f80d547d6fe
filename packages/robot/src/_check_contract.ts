import { isJsonObject } from "@envport/wire";
import type { JsonObject } from "@envport/wire";
import type { RobotContract } from "./robot_contract.ts";

const IMAGES = new Set<unknown>(["rgb", "bgr", "gray", "depth"]);
/** What an observation holds beside its features. */
const RESERVED = new Set(["terminated", "reward", "meta"]);

/** Whether a feature is an image. */
export function isImage(feature: { readonly type?: unknown }): boolean {
  return IMAGES.has(feature.type);
}

/**
 * Checks what an author wrote.
 *
 * @throws {TypeError} If it breaks a rule; the message names the feature.
 */
export function checkContract(contract: unknown): asserts contract is RobotContract {
  if (!isJsonObject(contract)) throw wrong("", "it must be an object", contract);
  const { robot_type: type, control_rate: rate, features } = contract;
  if (type !== undefined && typeof type !== "string") throw wrong("", "'robot_type' must be text", type);
  if (rate !== undefined && !isPositive(rate)) {
    throw wrong("", "'control_rate' must be a number of hertz above 0", rate);
  }
  if (!isJsonObject(features)) throw wrong("", "'features' must be an object", features);
  for (const [name, feature] of Object.entries(features)) checkFeature(name, feature);
}

function checkFeature(name: string, feature: unknown): void {
  const at = `feature '${name}' of `;
  if (!isJsonObject(feature)) throw wrong(at, "it must be an object", feature);
  const { role, type, dtype, shape, names, stats } = feature;
  if (role !== "observation" && role !== "action") {
    throw wrong(at, `its role must be "observation" or "action"`, role);
  }
  if (role === "observation" && RESERVED.has(name)) {
    throw wrong(at, "an observation must not be called terminated, reward or meta", name);
  }
  if (type !== undefined && typeof type !== "string") throw wrong(at, "its type must be text", type);
  if (dtype !== undefined && typeof dtype !== "string") throw wrong(at, "its dtype must be text", dtype);
  if (shape !== undefined) checkShape(at, shape, feature);
  if (names !== undefined && !(Array.isArray(names) && names.every((text) => typeof text === "string"))) {
    throw wrong(at, "its names must be a list of texts", names);
  }
  if (stats !== undefined) checkStats(at, stats);
}

function checkShape(at: string, shape: unknown, feature: JsonObject): void {
  const isShape =
    Array.isArray(shape) && shape.length > 0 && shape.every((n) => Number.isSafeInteger(n) && n > 0);
  if (!isShape) throw wrong(at, "its shape must be at least one count above 0", shape);
  if (!isImage(feature)) return;
  const channels: unknown = shape.length === 3 ? shape[2] : shape.length === 2 ? 1 : undefined;
  if (channels !== 1 && channels !== 3 && channels !== 4) {
    throw wrong(at, "the shape of an image must be height, width and 1, 3 or 4 channels", shape);
  }
}

function checkStats(at: string, stats: unknown): void {
  if (!isJsonObject(stats)) throw wrong(at, "its stats must be an object", stats);
  for (const key of ["mean", "std", "min", "max"]) {
    const values = stats[key];
    const isList = Array.isArray(values) && values.every((value) => Number.isFinite(value));
    if (values !== undefined && !isList)
      throw wrong(at, `its stats.${key} must be a list of numbers`, values);
  }
}

function isPositive(value: unknown): boolean {
  return typeof value === "number" && value > 0 && Number.isFinite(value);
}

function wrong(at: string, rule: string, value: unknown): TypeError {
  const shown = JSON.stringify(value) as string | undefined;
  return new TypeError(
    `Cannot use ${at}contract as ${rule}: current value is ${(shown ?? "undefined").slice(0, 200)}`,
  );
}
