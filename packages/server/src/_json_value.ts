import type { JsonObject } from "@envport/wire";

/**
 * Checks that a task's result is what JSON can say, and says where it is not (FRAME-10): `JSON.stringify` would make
 * null of NaN.
 *
 * @param frame What the task yielded.
 * @param what What the error calls it: `"the evaluation of task 'x'"`.
 * @returns The same object.
 * @throws {TypeError} If it holds a number that is not finite, a bigint, a function or a symbol.
 */
export function checkJson(frame: JsonObject, what: string): JsonObject {
  const pending: [value: unknown, path: string][] = [[frame, ""]];
  const seen = new Set<unknown>();
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [value, path] = next;
    const odd = oddity(value);
    if (odd) throw new TypeError(`${what} cannot be sent: ${odd} at '${path || "."}'`);
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    for (const [key, member] of Object.entries(value))
      pending.push([member, path === "" ? key : `${path}.${key}`]);
  }
  return frame;
}

function oddity(value: unknown): string | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? undefined : String(value);
    case "bigint":
    case "function":
    case "symbol":
      return `a ${typeof value}`;
    default:
      return undefined;
  }
}
