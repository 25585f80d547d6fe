import type { Readable } from "node:stream";

/** Reads lines and counted bytes from a stream, no more than is asked for. */
export class AnswerReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer[] = [];
  #size = 0;

  /** @param stream A stream that nothing else reads. */
  constructor(stream: Readable) {
    this.#chunks = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  /**
   * The next line, without its newline.
   *
   * @param maxBytes Its longest length.
   * @returns Undefined if the stream ends, or the line is longer.
   */
  async line(maxBytes: number): Promise<string | undefined> {
    for (;;) {
      const held = this.#join();
      const end = held.indexOf(0x0a);
      if (end >= 0 && end <= maxBytes) return this.#take(end + 1).toString("utf8", 0, end);
      if (end >= 0 || held.length > maxBytes || !(await this.#more())) return undefined;
    }
  }

  /**
   * The next bytes.
   *
   * @returns Undefined if the stream ends before.
   */
  async bytes(count: number): Promise<Buffer | undefined> {
    while (this.#size < count) if (!(await this.#more())) return undefined;
    return this.#take(count);
  }

  /** Whether more has come than was asked for. */
  get isAhead(): boolean {
    return this.#size > 0;
  }

  async #more(): Promise<boolean> {
    try {
      const next = await this.#chunks.next();
      if (next.done === true) return false;
      this.#held.push(next.value);
      this.#size += next.value.length;
      return true;
    } catch {
      return false; // a stream that was destroyed
    }
  }

  #join(): Buffer {
    if (this.#held.length > 1) this.#held = [Buffer.concat(this.#held)];
    return this.#held[0] ?? Buffer.alloc(0);
  }

  #take(count: number): Buffer {
    const held = this.#join();
    this.#held = [held.subarray(count)];
    this.#size -= count;
    return held.subarray(0, count);
  }
}
