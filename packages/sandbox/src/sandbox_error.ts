/**
 * Why a sandbox could not do what it was asked.
 *
 * | code | meaning |
 * | --- | --- |
 * | `unavailable` | this machine cannot sandbox; the message names the reason and the remedy |
 * | `start-failed` | bubblewrap or the agent inside it did not come up |
 * | `invalid-mount` | a mount, the root or the guest path breaks a rule |
 * | `hidden-visible` | a path that has to stay hidden would be visible inside |
 * | `invalid-identity` | the user to run as is root, or cannot be switched to |
 * | `spawn-failed` | the program could not be started inside |
 * | `connect-failed` | nothing accepts connections on that port inside |
 * | `died` | the sandbox ended while the call was under way |
 * | `stopped` | the sandbox was stopped |
 */
export type SandboxErrorCode =
  | "unavailable"
  | "start-failed"
  | "invalid-mount"
  | "hidden-visible"
  | "invalid-identity"
  | "spawn-failed"
  | "connect-failed"
  | "died"
  | "stopped";

/**
 * A failure of the sandbox. Misuse of a parameter is a `TypeError` or `RangeError` instead.
 *
 * @example
 * ```ts
 * import { SandboxError } from "@envport/sandbox";
 * import assert from "node:assert/strict";
 *
 * const error = new SandboxError("stopped", "Cannot spawn as the sandbox is stopped");
 * assert.equal(error.code, "stopped");
 * ```
 */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  /** What kind of failure this is; the message is for people. */
  readonly code: SandboxErrorCode;

  /** What a person can do about it, where that is known; the message has it too. */
  readonly remedy: string | undefined;

  /**
   * @param code What kind of failure this is.
   * @param message What failed and the value concerned.
   * @param options The error behind this one, as `cause`, and the remedy.
   */
  constructor(
    code: SandboxErrorCode,
    message: string,
    options?: ErrorOptions & { remedy?: string | undefined },
  ) {
    super(options?.remedy === undefined ? message : `${message}; ${options.remedy}`, options);
    this.code = code;
    this.remedy = options?.remedy;
  }
}
