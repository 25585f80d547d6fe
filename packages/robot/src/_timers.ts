/** The longest time that Node's timers know. */
const MAX_MS = 2 ** 31 - 1;

/** Timers by name; setting one again begins anew. */
export class Timers {
  readonly #timers = new Map<string, NodeJS.Timeout>();

  /** Calls back after some time; never if that is infinite. */
  set(name: string, milliseconds: number, callback: () => void): void {
    this.clear(name);
    if (milliseconds > MAX_MS) return;
    const timer = setTimeout(() => {
      this.#timers.delete(name);
      callback();
    }, milliseconds);
    this.#timers.set(name, timer);
  }

  has(name: string): boolean {
    return this.#timers.has(name);
  }

  clear(name: string): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }

  clearAll(): void {
    for (const name of [...this.#timers.keys()]) this.clear(name);
  }
}
