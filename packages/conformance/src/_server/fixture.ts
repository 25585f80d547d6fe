/** The tasks that a server under test must offer; the README says what each does. */
export const FIXTURE_TASKS = [
  "echo",
  "echo-answer",
  "typed-args",
  "typed-answer",
  "frame",
  "evaluate",
  "no-prompt",
  "throw-start",
  "throw-grade",
  "system-error",
  "slow-start",
  "slow-grade",
  "slow-end",
  "big",
  "ledger",
  "release",
  "limits",
] as const;

/** With what limits a server is run, as its task `limits` tells; those that it leaves out are the contract's. */
export interface Limits {
  maxFrameBytes: number;
  prefaceTimeout: number;
  maxConnections: number;
  maxParked: number;
}

/** The contract's own limits. */
export const DEFAULT_LIMITS: Limits = {
  maxFrameBytes: 16 * 1024 * 1024,
  prefaceTimeout: 10_000,
  maxConnections: 10_000,
  maxParked: 1_000,
};
