import { writeFrame } from "./_write_frame.ts";
import type { FrameValue } from "./encode.ts";

/** Memory that is larger than what it is needed for is not used beyond this factor. */
const WASTE = 4;

/** A frame that several may be sending; its memory is used again when the last of them is done. */
export class PooledFrame {
  readonly bytes: Uint8Array;
  readonly #recycle: () => void;
  #users = 1;

  constructor(bytes: Uint8Array, recycle: () => void) {
    this.bytes = bytes;
    this.#recycle = recycle;
  }

  /** Somebody else needs it, too. */
  retain(): this {
    this.#users++;
    return this;
  }

  /** Somebody does not need it any more. */
  release(): void {
    if (--this.#users === 0) this.#recycle();
  }
}

/**
 * Memory for frames of about the same size. A frame with pictures is some hundred kilobytes: fresh memory for each costs
 * more than all the rest of a step, in page faults and in garbage collection.
 */
export class FramePool {
  readonly #free: Uint8Array<ArrayBuffer>[] = [];
  readonly #limit: number;

  /** @param limit How many pieces of memory are kept for later. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Encodes a value.
   *
   * @returns A frame with one user.
   */
  encode(value: FrameValue): PooledFrame {
    let memory: Uint8Array<ArrayBuffer>;
    const size = writeFrame(value, (needed) => (memory = this.#take(needed)));
    return new PooledFrame(memory!.subarray(0, size), () => {
      if (this.#free.length < this.#limit) this.#free.push(memory);
    });
  }

  #take(size: number): Uint8Array<ArrayBuffer> {
    const index = this.#free.findIndex(({ length }) => length >= size && length <= size * WASTE);
    if (index >= 0) return this.#free.splice(index, 1)[0]!;
    // What is of no use any more makes room.
    if (this.#free.length === this.#limit) this.#free.shift();
    return new Uint8Array(size);
  }
}
