/** Options of every asynchronous call that can be given up. */
export interface AbortOptions {
  /** Gives the call up: its promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}
