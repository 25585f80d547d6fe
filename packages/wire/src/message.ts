import { EnvportError } from "./envport_error.ts";
import { ErrorCode } from "./error_code.ts";
import { isJsonObject, own } from "./json.ts";
import type { JsonObject } from "./json.ts";
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

/**
 * A {@linkcode ProtocolError} about one request, with the id to answer it with.
 *
 * @example
 * ```ts
 * import { RequestError, readRequest } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.throws(() => readRequest({ id: "a" }), (error) => error instanceof RequestError && error.id === "a");
 * ```
 */
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
 * Reads a parsed frame as a request (FRAME-7).
 *
 * @param value What `parseFrame` returned.
 * @throws {RequestError} If it is not an object, or `method` or `id` is of the wrong type (-32600), or `params` is
 *   neither an object nor absent (-32602).
 *
 * @example
 * ```ts
 * import { parseFrame, readRequest } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * const { id, method, params } = readRequest(parseFrame(Buffer.from('{"id":1,"method":"ping"}')));
 * assert.deepEqual([id, method, params], [1, "ping", {}]);
 * ```
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
 * @param value What `parseFrame` returned.
 * @throws {EnvportError} If it is not a reply (`protocol-violation`).
 *
 * @example
 * ```ts
 * import { parseFrame, readReply } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(readReply(parseFrame(Buffer.from('{"id":1,"result":{}}'))), { id: 1, result: {} });
 * ```
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
