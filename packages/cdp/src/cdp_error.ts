/**
 * Why the browser did not do what it was told.
 *
 * | code | meaning |
 * | --- | --- |
 * | `refused` | the browser answered with an error; `protocolCode` has its number |
 * | `target-crashed` | the page's renderer has died; `goto` or `Page.reload` brings the page back |
 * | `target-hung` | the page has not answered for `hangTimeout`: a script keeps it busy, or a debugger holds it |
 * | `target-closed` | the page is gone |
 * | `navigation-failed` | the page could not be loaded: no such host, refused, no such file |
 * | `evaluation-failed` | the script threw; the message is its own |
 * | `not-found` | no visible element matches the selector |
 * | `too-large` | a command is over the 100 MB at which browsers drop the connection; nothing was sent |
 */
export type CdpErrorCode =
  | "refused"
  | "target-crashed"
  | "target-hung"
  | "target-closed"
  | "navigation-failed"
  | "evaluation-failed"
  | "not-found"
  | "too-large";

/** What else a {@linkcode CdpError} tells. */
export interface CdpErrorInit extends ErrorOptions {
  /** The number that the browser answered with, as of JSON-RPC. */
  protocolCode?: number | undefined;
}

/**
 * The browser or its page did not do what it was told. What fails between this program and the browser (`timeout`,
 * `connection-lost`, `closed`) is an `EnvportError`.
 *
 * @example
 * ```ts
 * import { CdpError } from "@envport/cdp";
 * import assert from "node:assert/strict";
 *
 * const error = new CdpError("target-closed", "Cannot send Page.reload as the page is gone");
 * assert.equal(error.code, "target-closed");
 * ```
 */
export class CdpError extends Error {
  override readonly name = "CdpError";
  /** What kind of failure this is; the message is for people. */
  readonly code: CdpErrorCode;
  /** The number that the browser answered with, for `refused`. */
  readonly protocolCode: number | undefined;

  /**
   * @param code What kind of failure this is.
   * @param message What failed, and why.
   * @param init The browser's number, and the error behind this one.
   */
  constructor(code: CdpErrorCode, message: string, { protocolCode, ...options }: CdpErrorInit = {}) {
    super(message, options);
    this.code = code;
    this.protocolCode = protocolCode;
  }
}
