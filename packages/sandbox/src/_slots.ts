import { closeSync, constants, fstatSync, openSync } from "node:fs";

/** The host's ends of the three pipes of a slot: to the process, from it, and its errors. */
export interface Slot {
  readonly id: number;
  readonly to: number;
  readonly from: number;
  readonly errors: number;
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;

/**
 * Opens the other ends of pipes that the spawn server made. What it says about them is not trusted: each has to be a
 * pipe, and the numbers are looked up in the open folder of that very process.
 *
 * @param folder An open `/proc/<pid>/fd`.
 * @throws {Error} If a number is no descriptor of it or no pipe.
 */
export function openSlot(
  folder: number,
  [id, to, from, errors]: readonly [number, number, number, number],
): Slot {
  const opened: number[] = [];
  try {
    for (const [number, access] of [
      [to, O_WRONLY],
      [from, O_RDONLY],
      [errors, O_RDONLY],
    ] as const) {
      const fd = openSync(
        `/proc/self/fd/${String(folder)}/${String(number)}`,
        access | O_NONBLOCK | O_NOCTTY,
      );
      opened.push(fd);
      if (!fstatSync(fd).isFIFO()) throw new Error(`descriptor ${String(number)} is no pipe`);
    }
  } catch (error) {
    opened.forEach(closeSync);
    throw error;
  }
  return { id, to: opened[0]!, from: opened[1]!, errors: opened[2]! };
}

/** Closes the ends of a slot that nothing took. */
export function closeSlot({ to, from, errors }: Slot): void {
  [to, from, errors].forEach(closeSync);
}

/** Free slots, and who waits for one. */
export class SlotPool {
  readonly #free: Slot[] = [];
  readonly #waiting: { resolve: (slot: Slot) => void; reject: (error: Error) => void }[] = [];
  #closed: Error | undefined;

  /** Slots that nothing has taken. */
  get size(): number {
    return this.#free.length;
  }

  add(slot: Slot): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next.resolve(slot);
      return;
    }
    if (this.#closed === undefined) this.#free.push(slot);
    else closeSlot(slot);
  }

  /** @throws {Error} What the pool was closed with. */
  async take(): Promise<Slot> {
    if (this.#closed !== undefined) throw this.#closed;
    const slot = this.#free.shift();
    return slot ?? new Promise<Slot>((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  close(reason: Error): void {
    this.#closed ??= reason;
    this.#free.splice(0).forEach(closeSlot);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#closed);
  }
}
