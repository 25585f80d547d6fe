/** A JSON object as it came from, or goes to, the wire. */
export type JsonObject = Record<string, unknown>;

/**
 * Whether a value is a JSON object: not null, not an array.
 *
 * @param value Any parsed JSON value.
 *
 * @example
 * ```ts
 * import { isJsonObject } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual([{}, [], null].map(isJsonObject), [true, false, false]);
 * ```
 */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads a member of an object that a peer sent, never one that the object inherits: keys such as `__proto__` and
 * `constructor` are data (FRAME-10).
 *
 * @param object The object.
 * @param key The member's name.
 * @returns The member's value, or undefined if the object has no such member of its own.
 *
 * @example
 * ```ts
 * import { own } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.equal(own({ name: "shell" }, "constructor"), undefined);
 * ```
 */
export function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
