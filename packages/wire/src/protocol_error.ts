/** What an error frame may carry besides code and message: a machine-readable type and its facts (ERR-1). */
export interface ProtocolErrorData {
  /** For example `"no-task"`, `"unknown-session"`, `"invalid-args"`, `"dial-failed"` or `"cancelled"`. */
  type: string;
  [key: string]: unknown;
}

/** The `error` member of a JSON-RPC reply. */
export interface ErrorObject {
  code: number;
  message: string;
  data?: ProtocolErrorData;
}

/**
 * An error that crosses the wire as a JSON-RPC error frame, in either direction.
 *
 * @example
 * ```ts
 * import { ErrorCode, ProtocolError } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * const error = new ProtocolError(ErrorCode.invalidRequest, "no task in progress", { type: "no-task" });
 * assert.deepEqual(ProtocolError.fromObject(error.toObject()).data, { type: "no-task" });
 * ```
 */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** One of {@linkcode ErrorCode}, or whatever number a peer sent. */
  readonly code: number;
  /** The machine-readable part, where there is one. */
  readonly data: ProtocolErrorData | undefined;

  /**
   * @param code The JSON-RPC error code.
   * @param message What the other side reads; it must hold no secret, host path or stack trace (ERR-3).
   * @param data The machine-readable part.
   */
  constructor(code: number, message: string, data?: ProtocolErrorData) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** The error as the `error` member of a reply. */
  toObject(): ErrorObject {
    const { code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }

  /**
   * Reads the `error` member of a reply, tolerating peers that leave parts out.
   *
   * @param value What the peer sent.
   */
  static fromObject(value: unknown): ProtocolError {
    const { code, message, data } = (value ?? {}) as Partial<Record<keyof ErrorObject, unknown>>;
    return new ProtocolError(
      typeof code === "number" ? code : 0,
      typeof message === "string"
        ? message
        : `error without a message: ${JSON.stringify(value).slice(0, 200)}`,
      isErrorData(data) ? data : undefined,
    );
  }
}

function isErrorData(value: unknown): value is ProtocolErrorData {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
