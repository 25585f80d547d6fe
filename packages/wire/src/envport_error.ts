/**
 * Why a local operation failed.
 *
 * | code | meaning |
 * | --- | --- |
 * | `closed` | the object was closed before or during the call |
 * | `connection-lost` | the other side went away, or the network did |
 * | `not-ready` | nothing answered within the time allowed |
 * | `timeout` | the call took longer than the time allowed |
 * | `frame-too-large` | an outgoing frame is over the limit (FRAME-5); nothing was sent |
 * | `protocol-violation` | the other side said something that the contract forbids |
 * | `no-task` | grading needs a task that this session started or resumed |
 * | `unknown-binding` | no binding matches |
 * | `ambiguous-binding` | several bindings match |
 * | `unsupported` | the other side does not offer this |
 * | `service-failed` | a service or an `initialize` hook could not start |
 * | `address-in-use` | the address to listen on is taken |
 * | `invalid-value` | data from outside has the wrong shape |
 * | `host-key-mismatch` | a server proved another identity than its binding promised |
 * | `authentication-failed` | a daemon refused the credentials of its binding |
 */
export type EnvportErrorCode =
  | "closed"
  | "connection-lost"
  | "not-ready"
  | "timeout"
  | "frame-too-large"
  | "protocol-violation"
  | "no-task"
  | "unknown-binding"
  | "ambiguous-binding"
  | "unsupported"
  | "service-failed"
  | "address-in-use"
  | "invalid-value"
  | "host-key-mismatch"
  | "authentication-failed";

/**
 * A local failure. It never crosses the wire; compare {@linkcode ProtocolError}.
 *
 * @example
 * ```ts
 * import { EnvportError } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * const error = new EnvportError("not-ready", "Cannot connect as nothing listens on 127.0.0.1:9");
 * assert.equal(error.code, "not-ready");
 * ```
 */
export class EnvportError extends Error {
  override readonly name = "EnvportError";
  /** What kind of failure this is; the message is for people. */
  readonly code: EnvportErrorCode;

  /**
   * @param code What kind of failure this is.
   * @param message What failed, the value concerned, and the remedy.
   * @param options The error behind this one, as `cause`.
   */
  constructor(code: EnvportErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
