import { constants, inflateRawSync } from "node:zlib";
import { violation } from "./_violation.ts";

const WINDOW = 32 * 1024;
const MAX_CHUNK = 1 << 22;
const { Z_SYNC_FLUSH } = constants;

/**
 * One zlib stream that goes on from rectangle to rectangle (RFC 1950). Servers flush after each, so a rectangle's blocks
 * begin and end at a byte, and need of what came before no more than the last 32 KiB, which is the dictionary here. That
 * keeps it synchronous and bounded with nothing but public functions.
 */
export class Inflater {
  #window: Buffer = Buffer.alloc(0);
  #begun = false;

  /**
   * Inflates a rectangle's bytes.
   *
   * @param data All of them.
   * @param limit What they may come to.
   */
  inflate(data: Buffer, limit: number): Buffer {
    const body = this.#begun ? data : withoutHeader(data);
    this.#begun = true;
    const output = this.#run(body, limit);
    this.#window =
      output.length >= WINDOW
        ? Buffer.from(output.subarray(output.length - WINDOW))
        : Buffer.concat([
            this.#window.subarray(Math.max(0, this.#window.length + output.length - WINDOW)),
            output,
          ]);
    return output;
  }

  /** As `inflate`, where the size is known. */
  exactly(data: Buffer, size: number): Buffer {
    const output = this.inflate(data, size);
    if (output.length !== size)
      throw violation(`a rectangle inflates to ${String(size)} bytes`, output.length);
    return output;
  }

  /** The next rectangle begins a new stream. */
  reset(): void {
    this.#window = Buffer.alloc(0);
    this.#begun = false;
  }

  #run(body: Buffer, limit: number): Buffer {
    const dictionary = this.#window.length > 0 ? { dictionary: this.#window } : {};
    const chunkSize = Math.max(64, Math.min(limit + 1, MAX_CHUNK));
    try {
      const options = {
        finishFlush: Z_SYNC_FLUSH,
        maxOutputLength: Math.max(1, limit),
        chunkSize,
        ...dictionary,
      };
      return inflateRawSync(body, options);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ERR_BUFFER_TOO_LARGE") throw violation("its compressed data is a zlib stream", code);
      throw violation(`a rectangle inflates to at most ${String(limit)} bytes`, "more");
    }
  }
}

/** The two bytes that a zlib stream begins with: deflate, and a check. */
function withoutHeader(data: Buffer): Buffer {
  const header = data.length < 2 ? 0 : data.readUInt16BE(0);
  if ((header & 0x0f00) !== 0x0800 || header % 31 !== 0 || (header & 0x20) !== 0) {
    throw violation("a zlib stream begins with its header", data.subarray(0, 2).toString("hex"));
  }
  return data.subarray(2);
}
