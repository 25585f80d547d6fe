/**
 * How the command `envport` ends. `exec` and `open` of a shell end as the command inside did, and with
 * {@linkcode ExitCode.notRun} if it could not be run.
 *
 * @example
 * ```ts
 * import { ExitCode } from "@envport/cli";
 * import assert from "node:assert/strict";
 *
 * assert.equal(ExitCode.cannotConnect, 3);
 * ```
 */
export const ExitCode = {
  /** It is done. */
  ok: 0,
  /** It failed: the environment, the task or the agent said why. */
  failed: 1,
  /** The command line makes no sense, or names a file that cannot be used. */
  usage: 2,
  /** No environment answered, or the connection was lost. */
  cannotConnect: 3,
  /** The score is below `--min-score`. */
  lowScore: 4,
  /** Ctrl-C (128 + SIGINT). */
  interrupted: 130,
  /** Whoever read the output went away (128 + SIGPIPE). */
  outputGone: 141,
  /** Asked to end (128 + SIGTERM). */
  terminated: 143,
  /** Of `exec` and a shell: the command could not be run. */
  notRun: 255,
} as const;
