import { isUtf8 } from "node:buffer";
import { isNestedTooDeep } from "./_nesting.ts";
import { ErrorCode } from "./error_code.ts";
import { ProtocolError } from "./protocol_error.ts";

/** Deepest accepted nesting of arrays and objects in one frame (FRAME-6). */
export const MAX_NESTING = 512;

/**
 * Parses a line as JSON.
 *
 * @param line One frame without its newline.
 * @throws {ProtocolError} If it is not UTF-8, not JSON or nested deeper than {@linkcode MAX_NESTING} (-32700, FRAME-6).
 *
 * @example
 * ```ts
 * import { parseFrame } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(parseFrame(Buffer.from('{"id":1}\r')), { id: 1 });
 * ```
 */
export function parseFrame(line: Uint8Array): unknown {
  if (!isUtf8(line)) throw fail("not valid UTF-8");
  const bytes = Buffer.isBuffer(line) ? line : Buffer.from(line.buffer, line.byteOffset, line.length);
  if (isNestedTooDeep(bytes, MAX_NESTING)) throw fail(`nested deeper than ${String(MAX_NESTING)}`);
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw fail("not valid JSON");
  }
}

function fail(why: string): ProtocolError {
  return new ProtocolError(ErrorCode.parseError, `parse error: ${why}`);
}
