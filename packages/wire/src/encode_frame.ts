import { isNestedTooDeep } from "./_nesting.ts";
import { checkFinite } from "./_non_finite.ts";
import { EnvportError } from "./envport_error.ts";
import { MAX_FRAME_BYTES } from "./frame_reader.ts";
import type { JsonObject } from "./json.ts";
import type { MessageId } from "./message.ts";
import { MAX_NESTING } from "./parse_frame.ts";
import type { ErrorObject } from "./protocol_error.ts";

/** A frame before it is encoded: a request, a notification, or a reply. */
export type OutgoingMessage =
  | { id?: MessageId; method: string; params: JsonObject }
  | { id: MessageId | null; result: unknown }
  | { id: MessageId | null; error: ErrorObject };

/**
 * Encodes a message as one line: compact, the keys in the order of FRAME-11.
 *
 * @param message The message.
 * @param maxFrameBytes The limit in bytes, newline not counted.
 * @throws {EnvportError} If the line is longer than the limit (`frame-too-large`, FRAME-5).
 * @throws {TypeError} If the message holds what JSON cannot say: a number that is not finite (FRAME-10; the message names
 *   its path), a bigint, a cycle.
 * @throws {RangeError} If it is nested deeper than the other side reads, or longer than a string can be.
 *
 * @example
 * ```ts
 * import { encodeFrame } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.equal(String(encodeFrame({ id: 1, result: {} })), '{"jsonrpc":"2.0","id":1,"result":{}}\n');
 * ```
 */
export function encodeFrame(message: OutgoingMessage, maxFrameBytes: number = MAX_FRAME_BYTES): Buffer {
  const ordered = inOrder(message);
  const text = JSON.stringify(ordered);
  // What JSON cannot say as a number has become null.
  if (text.includes("null")) checkFinite(ordered);
  const bytes = Buffer.from(`${text}\n`);
  const size = bytes.length - 1;
  const what = "method" in message ? `a ${message.method} request` : "a reply";
  if (size > maxFrameBytes) {
    throw new EnvportError(
      "frame-too-large",
      `Cannot send ${what} of ${String(size)} bytes as the limit is ${String(maxFrameBytes)} bytes`,
    );
  }
  if (isNestedTooDeep(bytes, MAX_NESTING)) {
    throw new RangeError(`Cannot send ${what} as it is nested deeper than ${String(MAX_NESTING)}`);
  }
  return bytes;
}

function inOrder(message: OutgoingMessage): object {
  const head = { jsonrpc: "2.0", id: message.id };
  if ("method" in message) return { ...head, method: message.method, params: message.params };
  return "error" in message ? { ...head, error: message.error } : { ...head, result: message.result ?? null };
}
