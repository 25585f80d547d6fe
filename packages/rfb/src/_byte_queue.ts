/**
 * A parser that stops wherever bytes are missing: it yields how many it needs, and is resumed when there are as many.
 */
export type Parse<T = void> = Generator<number, T, void>;

const FIRST_BYTES = 1 << 16;

/**
 * The bytes that arrived and are not read yet. They are read in place from the chunk that came last; only what is left
 * of it is copied.
 */
export class ByteQueue {
  /** Where the bytes are, from `offset` on. */
  bytes: Buffer = Buffer.alloc(0);
  offset: number = 0;
  #end = 0;
  #store: Buffer = Buffer.alloc(0);

  /** How many bytes can be read. */
  get available(): number {
    return this.#end - this.offset;
  }

  /** Appends a chunk, which is not kept beyond `settle`. */
  push(chunk: Buffer): void {
    const left = this.available;
    if (left === 0) {
      this.bytes = chunk;
      this.offset = 0;
      this.#end = chunk.length;
      return;
    }
    this.#reserve(left + chunk.length);
    chunk.copy(this.#store, this.#end);
    this.#end += chunk.length;
  }

  /** Copies what is left out of the chunk, whose memory its owner may then use again. */
  settle(): void {
    if (this.bytes !== this.#store && this.available > 0) this.#reserve(this.available);
  }

  /** Makes room for `total` bytes in our own memory, what is left at its beginning or where it is. */
  #reserve(total: number): void {
    const left = this.available;
    if (this.bytes === this.#store && this.offset + total <= this.#store.length) return;
    let store = this.#store;
    if (total > store.length || (this.bytes === store && this.offset < left)) {
      store = Buffer.allocUnsafe(Math.max(FIRST_BYTES, total * 2));
    }
    this.bytes.copy(store, 0, this.offset, this.#end);
    this.#store = store;
    this.bytes = store;
    this.offset = 0;
    this.#end = left;
  }

  u8(): number {
    return this.bytes[this.offset++]!;
  }

  u16(): number {
    return (this.u8() << 8) | this.u8();
  }

  u32(): number {
    return this.s32() >>> 0;
  }

  s32(): number {
    return (this.u16() << 16) | this.u16();
  }

  /** The next bytes where they are; good until the parser yields. */
  view(length: number): Buffer {
    return this.bytes.subarray(this.offset, (this.offset += length));
  }

  /** The next bytes, copied. */
  take(length: number): Buffer {
    return Buffer.from(this.view(length));
  }
}
