import { EnvportError } from "@envport/wire";

/**
 * The other side said what RFB forbids, or what no sound server says.
 *
 * @param rule What has to hold.
 * @param value What was read instead.
 */
export function violation(rule: string, value: unknown): EnvportError {
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  return new EnvportError(
    "protocol-violation",
    `Cannot read RFB stream as ${rule}: current value is ${shown.slice(0, 200)}`,
  );
}
