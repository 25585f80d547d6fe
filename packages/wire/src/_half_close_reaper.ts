/**
 * Resets a pair of which one direction has ended while the other is silent: after its EOF a socket is no longer polled,
 * so a reset that follows would never be seen (libuv issue 3449).
 */
export class HalfCloseReaper {
  readonly #timeout: number;
  readonly #reap: () => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /**
   * @param timeout How long silence is borne, in milliseconds; 0 = for ever.
   * @param reap Resets the pair.
   */
  constructor(timeout: number, reap: () => void) {
    this.#timeout = timeout;
    this.#reap = reap;
  }

  /** A direction has ended: from now on the time runs, also until what was written last has left. */
  directionEnded(): void {
    if (this.#timeout > 0 && !this.#stopped) this.#timer ??= setTimeout(this.#reap, this.#timeout).unref();
    this.refresh();
  }

  /** Bytes have moved. */
  refresh(): void {
    this.#timer?.refresh();
  }

  /** Both streams are closed. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
