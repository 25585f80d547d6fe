import { isUtf8 } from "node:buffer";
import { EnvportError } from "./envport_error.ts";
import { ErrorCode } from "./error_code.ts";
import { MAX_FRAME_BYTES } from "./frame_reader.ts";
import { isJsonObject, own } from "./json.ts";
import type { JsonObject } from "./json.ts";
import type { ErrorObject } from "./protocol_error.ts";
import { ProtocolError } from "./protocol_error.ts";

/** What a reply is matched by: a string or a safe integer (FRAME-9). */
export type MessageId = string | number;

/** A call, or a notification if it has no id (FRAME-8). */
export interface RequestMessage {
  /** Undefined for a notification. */
  id: MessageId | undefined;
  method: string;
  /** Empty if absent or null. */
  params: JsonObject;
}

/** A reply: it has a result or an error. */
export interface ReplyMessage {
  /** Null if the request's own id could not be read. */
  id: MessageId | null;
  result?: unknown;
  error?: ProtocolError;
}

/** Deepest accepted nesting of arrays and objects in one frame (FRAME-6). */
export const MAX_NESTING = 512;

/** A {@linkcode ProtocolError} about a request whose id could still be read, for the reply. */
export class RequestError extends ProtocolError {
  /** The id to answer with, null if it could not be read; undefined if it was a notification: no answer. */
  readonly id: MessageId | null | undefined;

  /**
   * @param id The id to answer with.
   * @param code The JSON-RPC error code.
   * @param message What is wrong with the request.
   */
  constructor(id: MessageId | null | undefined, code: number, message: string) {
    super(code, message);
    this.id = id;
  }
}

/**
 * Parses a line as JSON.
 *
 * @param line One frame without its newline.
 * @throws {ProtocolError} If it is not UTF-8, not JSON or nested deeper than {@linkcode MAX_NESTING} (-32700, FRAME-6).
 */
export function parseFrame(line: Uint8Array): unknown {
  const fail = (why: string) => new ProtocolError(ErrorCode.parseError, `parse error: ${why}`);
  if (!isUtf8(line)) throw fail("not valid UTF-8");
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.length);
  if (nestedTooDeep(bytes)) throw fail(`nested deeper than ${String(MAX_NESTING)}`);
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw fail("not valid JSON");
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether brackets outside strings are nested too deep; bytes that are no JSON give any answer. */
function nestedTooDeep(bytes: Buffer): boolean {
  if (bytes.length <= MAX_NESTING) return false;
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE) i = endOfString(bytes, i);
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > MAX_NESTING) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return false;
}

/** The index of the quote that ends the string which begins at `start`, or of the last byte. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(QUOTE, start + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let backslashes = 0;
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return bytes.length;
}

/**
 * Reads a parsed frame as a request (FRAME-7).
 *
 * @param value What {@linkcode parseFrame} returned.
 * @throws {RequestError} If it is not an object, or `method` or `id` is of the wrong type (-32600), or `params` is
 *   neither an object nor absent (-32602).
 */
export function readRequest(value: unknown): RequestMessage {
  if (!isJsonObject(value)) {
    const what = Array.isArray(value) ? "a batch array is not supported" : "a frame must be an object";
    throw new RequestError(null, ErrorCode.invalidRequest, `invalid request: ${what}`);
  }
  const id = own(value, "id") ?? undefined;
  if (id !== undefined && typeof id !== "string" && !Number.isSafeInteger(id)) {
    throw new RequestError(
      null,
      ErrorCode.invalidRequest,
      "invalid request: 'id' must be a string, a safe integer or null",
    );
  }
  const validId = id as MessageId | undefined;
  const method = own(value, "method");
  if (typeof method !== "string") {
    throw new RequestError(
      validId ?? null,
      ErrorCode.invalidRequest,
      "invalid request: 'method' must be a string",
    );
  }
  const params = own(value, "params") ?? {};
  if (!isJsonObject(params)) {
    throw new RequestError(validId, ErrorCode.invalidParams, `${method}: 'params' must be an object`);
  }
  return { id: validId, method, params };
}

/**
 * Reads a parsed frame as a reply.
 *
 * @param value What {@linkcode parseFrame} returned.
 * @throws {EnvportError} If it is not a reply (`protocol-violation`).
 */
export function readReply(value: unknown): ReplyMessage {
  const id = isJsonObject(value) ? (own(value, "id") ?? null) : undefined;
  const valid = id === null || typeof id === "string" || typeof id === "number";
  if (isJsonObject(value) && valid) {
    const error = own(value, "error");
    if (error !== undefined && error !== null) return { id, error: ProtocolError.fromObject(error) };
    if (Object.hasOwn(value, "result")) return { id, result: value["result"] };
  }
  throw new EnvportError("protocol-violation", `Cannot read reply: ${JSON.stringify(value).slice(0, 200)}`);
}

/** A frame before it is encoded; the order of the keys is the order on the wire (FRAME-11). */
export type OutgoingMessage =
  | { id?: MessageId; method: string; params: JsonObject }
  | { id: MessageId | null; result: unknown }
  | { id: MessageId | null; error: ErrorObject };

/**
 * Encodes a message as one line.
 *
 * @param message The message.
 * @param maxFrameBytes The limit, newline not counted.
 * @throws {EnvportError} If the line is longer than the limit (`frame-too-large`, FRAME-5).
 * @throws {TypeError} If the message holds what JSON cannot say (a bigint, a cycle).
 * @throws {RangeError} If it is nested too deep to be written.
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
  const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  if (bytes.length - 1 <= maxFrameBytes) return bytes;
  const what = "method" in message ? `a ${message.method} request` : "a reply";
  throw new EnvportError(
    "frame-too-large",
    `Cannot send ${what} of ${String(bytes.length - 1)} bytes as the limit is ${String(maxFrameBytes)} bytes`,
  );
}
