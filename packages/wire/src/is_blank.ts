/** Tab, newline, carriage return and space: the white space of JSON. */
const WHITE_SPACE: readonly number[] = [0x09, 0x0a, 0x0d, 0x20];

/**
 * Whether a line holds nothing but white space: such a line is ignored (FRAME-6).
 *
 * @param line A line without its newline.
 *
 * @example
 * ```ts
 * import { isBlank } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.equal(isBlank(Buffer.from("\r")), true);
 * ```
 */
export function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => WHITE_SPACE.includes(byte));
}
