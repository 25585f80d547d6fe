/** How a bridge treats its agents. Times are in milliseconds. */
export interface RobotBridgeOptions {
  /**
   * How long a connection may take to say which slot it wants.
   *
   * @default {30000}
   */
  readonly claimTimeout?: number | undefined;
  /**
   * How long agents that are there wait for one of a claimed slot to connect. Afterwards the slot is carried along and
   * refuses its agent. One that keeps nobody waiting, as of a single slot, may take its time.
   *
   * @default {30000}
   */
  readonly dialTimeout?: number | undefined;
  /**
   * How long an agent may think. One that takes longer is sent away, and may come back with its token. Its neighbours wait
   * for it: with several slots, set it.
   *
   * @default {Infinity}
   */
  readonly actionTimeout?: number | undefined;
  /**
   * How long the first step waits for further claims while there are free slots. A slot that is not claimed before it has to
   * wait for the next batch.
   *
   * @default {0}
   */
  readonly gatherTimeout?: number | undefined;
  /**
   * The largest frame that an agent may send, in bytes.
   *
   * @default {1048576}
   */
  readonly maxActionBytes?: number | undefined;
  /**
   * Told what its author should know: a simulator that failed, a cast of an observation.
   *
   * @default writes to standard error
   */
  readonly log?: ((this: void, message: string, error?: unknown) => void) | undefined;
}
