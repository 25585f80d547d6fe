import { abortable } from "./_abortable.ts";

/** One piece of work that several callers wait for; it is abandoned when the last of them has given up. */
export class SharedAttempt<T> {
  /** What becomes of the work; its rejection may be ignored. */
  readonly result: Promise<T>;
  readonly #controller = new AbortController();
  #waiting = 0;

  /** @param work Begun at once; its signal tells that nobody waits any more. */
  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.result = work(this.#controller.signal);
    this.result.catch(() => {
      // Whoever waits hears of it.
    });
  }

  /** Whether nobody may join any more. */
  get abandoned(): boolean {
    return this.#controller.signal.aborted;
  }

  /**
   * Waits for the result.
   *
   * @param signal Gives up waiting.
   * @throws The signal's reason, the reason of {@linkcode SharedAttempt.abandon}, and whatever the work throws.
   */
  async wait(signal?: AbortSignal): Promise<T> {
    const { signal: abandoned } = this.#controller;
    this.#waiting++;
    try {
      return await abortable(this.result, signal ? AbortSignal.any([signal, abandoned]) : abandoned);
    } catch (error) {
      if (signal?.aborted && this.#waiting === 1) this.abandon(signal.reason);
      throw error;
    } finally {
      this.#waiting--;
    }
  }

  /**
   * Makes everybody who waits fail, and tells the work.
   *
   * @param reason What they fail with.
   */
  abandon(reason: unknown): void {
    this.#controller.abort(reason);
  }
}
