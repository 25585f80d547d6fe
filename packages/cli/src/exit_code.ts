/**
 * How the command `envport` ends. `exec` and `open` of a shell end as the command inside did, and with
 * {@linkcode ExitCode.NotRun} if it could not be run.
 *
 * @example
 * ```ts
 * import { ExitCode } from "@envport/cli";
 * import assert from "node:assert/strict";
 *
 * assert.equal(ExitCode.CannotConnect, 3);
 * ```
 */
export const ExitCode = {
  /** It is done. */
  Ok: 0,
  /** It failed: the environment, the task or the agent said why. */
  Failed: 1,
  /** The command line makes no sense, or names a file that cannot be used. */
  Usage: 2,
  /** No environment answered, or the connection was lost. */
  CannotConnect: 3,
  /** The score is below `--min-score`. */
  LowScore: 4,
  /** Ctrl-C (128 + SIGINT). */
  Interrupted: 130,
  /** Whoever read the output went away (128 + SIGPIPE). */
  OutputGone: 141,
  /** Asked to end (128 + SIGTERM). */
  Terminated: 143,
  /** Of `exec` and a shell: the command could not be run. */
  NotRun: 255,
} as const;
