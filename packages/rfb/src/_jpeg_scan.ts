import { ZIGZAG } from "./_jpeg_transform.ts";
import { violation } from "./_violation.ts";

/** The symbol of each code of up to 16 bits: `length << 8 | symbol` at the code followed by any bits, or 0. */
export type HuffmanTable = Uint16Array;

/**
 * The table of a Huffman code (T.81, annex C).
 *
 * @param counts How many codes there are of 1 to 16 bits.
 * @param symbols What they stand for, in order.
 */
export function huffmanTable(counts: readonly number[], symbols: readonly number[]): HuffmanTable {
  const table = new Uint16Array(1 << 16);
  let code = 0;
  let next = 0;
  counts.forEach((count, i) => {
    const length = i + 1;
    for (let j = 0; j < count; j++, code += 1 << (16 - length)) {
      table.fill((length << 8) | symbols[next++]!, code, code + (1 << (16 - length)));
    }
  });
  if (code > 1 << 16) throw violation("a Huffman code fits into 16 bits", code);
  return table;
}

/** The entropy-coded part of an image. */
export class ScanReader {
  readonly #data: Buffer;
  #at: number;
  #bits = 0;
  #count = 0;
  readonly #block = new Int32Array(64);
  /** The DC coefficient of the last block. */
  predictor: number = 0;

  constructor(data: Buffer, at: number) {
    this.#data = data;
    this.#at = at;
  }

  /** Goes on behind a restart marker. */
  restart(): void {
    this.#bits = 0;
    this.#count = 0;
    const marker = this.#data[this.#at + 1] ?? 0;
    if (this.#data[this.#at] !== 0xff || (marker & 0xf8) !== 0xd0)
      throw violation("a restart marker is where it is due", marker);
    this.#at += 2;
  }

  /** The coefficients of the next block, multiplied out and in rows. The array is used again. */
  block(dc: HuffmanTable, ac: HuffmanTable, quantization: Uint16Array, predictor: number): Int32Array {
    const block = this.#block.fill(0);
    this.predictor = predictor + this.#signed(this.#symbol(dc) & 15);
    block[0] = this.predictor * quantization[0]!;
    for (let i = 1; i < 64; i++) {
      const symbol = this.#symbol(ac);
      const size = symbol & 15;
      if (size === 0 && symbol !== 0xf0) break;
      i += symbol >> 4;
      if (i > 63) throw violation("a JPEG block has 64 coefficients", i);
      const place = ZIGZAG[i]!;
      if (size > 0) block[place] = this.#signed(size) * quantization[place]!;
    }
    return block;
  }

  #symbol(table: HuffmanTable): number {
    this.#fill();
    const entry = table[(this.#bits >>> (this.#count - 16)) & 0xffff]!;
    if (entry === 0) throw violation("a JPEG code is in its table", "none");
    this.#count -= entry >> 8;
    return entry & 255;
  }

  /** A number of so many bits, the lower half of which is negative. */
  #signed(size: number): number {
    if (size === 0) return 0;
    this.#fill();
    this.#count -= size;
    const value = (this.#bits >>> this.#count) & ((1 << size) - 1);
    return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
  }

  /** At least 16 bits; behind a marker they are zeros. */
  #fill(): void {
    while (this.#count < 16) {
      let byte = this.#data[this.#at];
      if (byte === undefined) throw violation("a JPEG image is whole", "cut off");
      if (byte === 0xff && this.#data[this.#at + 1] !== 0) byte = 0;
      else this.#at += byte === 0xff ? 2 : 1;
      this.#bits = (this.#bits << 8) | byte;
      this.#count += 8;
    }
  }
}
