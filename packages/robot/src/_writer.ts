/** The bits that CPython writes for a number that is none. */
const NAN_BITS = 0x7ff80000;

/**
 * Writes the pieces of msgpack (https://github.com/msgpack/msgpack/blob/master/spec.md), each in its shortest form.
 * Without memory to write to, it measures.
 */
export class Writer {
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
  /** What has been written so far. */
  length = 0;
  readonly #view: DataView | undefined;
  readonly #buffer: Buffer | undefined;

  constructor(bytes: Uint8Array<ArrayBuffer> | undefined) {
    this.bytes = bytes;
    this.#view = bytes && new DataView(bytes.buffer);
    this.#buffer = bytes && Buffer.from(bytes.buffer);
  }

  /** Whether what is written goes nowhere. */
  get measuring(): boolean {
    return this.bytes === undefined;
  }

  byte(value: number): void {
    if (this.bytes) this.bytes[this.length] = value;
    this.length++;
  }

  raw(bytes: Uint8Array): void {
    this.bytes?.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** fixint, then 8, 16, 32 and 64 bits; those of 0 and above are unsigned. */
  integer(value: number | bigint): void {
    const at = this.length;
    if (value >= 0) {
      if (value < 0x80) this.byte(Number(value));
      else if (value < 0x100) this.#unsigned(0xcc, 1, value);
      else if (value < 0x10000) this.#unsigned(0xcd, 2, value);
      else if (value < 0x100000000) this.#unsigned(0xce, 4, value);
      else {
        this.#head(0xcf, 8);
        this.#view?.setBigUint64(at + 1, BigInt(value));
      }
    } else if (value >= -0x20) this.byte(Number(value) & 0xff);
    else if (value >= -0x80) this.#unsigned(0xd0, 1, value);
    else if (value >= -0x8000) this.#unsigned(0xd1, 2, value);
    else if (value >= -0x80000000) this.#unsigned(0xd2, 4, value);
    else {
      this.#head(0xd3, 8);
      this.#view?.setBigInt64(at + 1, BigInt(value));
    }
  }

  float(value: number): void {
    const at = this.length;
    this.#head(0xcb, 8);
    if (!this.#view) return;
    if (!Number.isNaN(value)) {
      this.#view.setFloat64(at + 1, value);
      return;
    }
    this.#view.setUint32(at + 1, NAN_BITS);
    this.#view.setUint32(at + 5, 0);
  }

  text(text: string): void {
    const size = Buffer.byteLength(text);
    if (size < 32) this.byte(0xa0 + size);
    else if (size < 0x100) this.#unsigned(0xd9, 1, size);
    else if (size < 0x10000) this.#unsigned(0xda, 2, size);
    else this.#unsigned(0xdb, 4, size);
    this.#buffer?.write(text, this.length, "utf8");
    this.length += size;
  }

  binary(bytes: Uint8Array): void {
    const size = bytes.length;
    if (size < 0x100) this.#unsigned(0xc4, 1, size);
    else if (size < 0x10000) this.#unsigned(0xc5, 2, size);
    else this.#unsigned(0xc6, 4, size);
    this.raw(bytes);
  }

  /** The head of a list (0x90, 0xdc) or a map (0x80, 0xde). */
  sequence(count: number, short: number, long: number): void {
    if (count < 16) this.byte(short + count);
    else if (count < 0x10000) this.#unsigned(long, 2, count);
    else this.#unsigned(long + 1, 4, count);
  }

  #head(type: number, size: number): void {
    if (this.bytes) this.bytes[this.length] = type;
    this.length += 1 + size;
  }

  /** A type byte and a number of 1, 2 or 4 bytes; a negative one as its two's complement. */
  #unsigned(type: number, size: 1 | 2 | 4, value: number | bigint): void {
    const at = this.length + 1;
    this.#head(type, size);
    if (!this.#view) return;
    if (size === 1) this.#view.setUint8(at, Number(value));
    else if (size === 2) this.#view.setUint16(at, Number(value));
    else this.#view.setUint32(at, Number(value));
  }
}
