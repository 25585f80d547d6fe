import { abortable } from "./_abortable.ts";

/** Options of {@linkcode TurnQueue.run}. */
export interface TurnOptions {
  /** Gives up: work that still waits is never begun. */
  signal?: AbortSignal | undefined;
  /** Called when the signal gives up on work that has begun; it keeps its turn until it is done. */
  onAbort?: (() => void) | undefined;
  /** Whether {@linkcode TurnQueue.dismiss} may send it away while it waits. */
  dismissable?: boolean | undefined;
}

interface Turn {
  begin(): void;
  reject(reason: Error): void;
  dismissable: boolean;
}

/** Runs pieces of work one after the other, in the order in which they were asked for (CLI-5). */
export class TurnQueue {
  readonly #waiting = new Set<Turn>();
  #busy = false;

  /**
   * Runs work when what was asked for before is done; at once if nothing is under way.
   *
   * @param work An async function.
   * @param options How to give it up.
   * @throws The signal's reason, the reason of a dismissal, and whatever the work throws.
   */
  async run<T>(work: () => Promise<T>, options: TurnOptions = {}): Promise<T> {
    const { signal, onAbort, dismissable = false } = options;
    signal?.throwIfAborted();
    let turn!: Turn;
    const done = new Promise<T>((resolve, reject) => {
      const begin = (): void => {
        void work()
          .then(resolve, reject)
          .then(() => {
            this.#next();
          });
      };
      turn = { begin, reject, dismissable };
    });
    this.#waiting.add(turn);
    if (!this.#busy) this.#next();
    return await abortable(done, signal, () => {
      if (!this.#waiting.delete(turn)) onAbort?.();
    });
  }

  /**
   * Sends away the work that waits and may be dismissed; what runs goes on.
   *
   * @param reason What it fails with.
   */
  dismiss(reason: Error): void {
    for (const turn of this.#waiting) {
      if (!turn.dismissable) continue;
      this.#waiting.delete(turn);
      turn.reject(reason);
    }
  }

  /** Begins the next turn, in the same step in which it stops waiting: nobody can dismiss it in between. */
  #next(): void {
    const [turn] = this.#waiting;
    this.#busy = turn !== undefined;
    if (!turn) return;
    this.#waiting.delete(turn);
    turn.begin();
  }
}
