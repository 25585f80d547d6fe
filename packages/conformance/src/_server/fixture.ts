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
  "limits",
] as const;

/** Tasks of which only the strict profile makes use. */
export const STRICT_FIXTURE_TASKS = ["ignore-signal", "timeout", "progress"] as const;

/** The bindings that a server under test must publish. */
export const FIXTURE_BINDINGS = ["echo", "talker", "refused", "portless"] as const;

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
