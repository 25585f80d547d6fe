import { huffmanTable, ScanReader } from "./_jpeg_scan.ts";
import type { HuffmanTable } from "./_jpeg_scan.ts";
import { inverseTransform, ZIGZAG } from "./_jpeg_transform.ts";
import { violation } from "./_violation.ts";

/** One of up to three planes of a JPEG image. */
interface Component {
  readonly id: number;
  readonly horizontal: number;
  readonly vertical: number;
  readonly quantization: number;
  dc: HuffmanTable | undefined;
  ac: HuffmanTable | undefined;
  /** Samples in a row of `samples`. */
  stride: number;
  samples: Uint8Array;
  /** The last DC coefficient. */
  predictor: number;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * A baseline JPEG image (ITU-T T.81) as RGBA: what VNC servers put into Tight rectangles. Progressive and arithmetic
 * images, 12 bits and CMYK are refused: no server sends them.
 *
 * @param data The whole file.
 * @param expected The size that it has to have.
 */
export function decodeJpeg(data: Buffer, expected: Size): Uint8Array {
  return new JpegImage(data, expected).decode();
}

class JpegImage {
  readonly #data: Buffer;
  readonly #expected: Size;
  readonly #quantization: Uint16Array[] = [];
  readonly #huffman = new Map<number, HuffmanTable>();
  #components: Component[] = [];
  #restart = 0;
  #at = 2;

  constructor(data: Buffer, expected: Size) {
    this.#data = data;
    this.#expected = expected;
  }

  decode(): Uint8Array {
    if (this.#data.length < 4 || this.#data.readUInt16BE(0) !== 0xffd8)
      throw violation("a JPEG image begins with FFD8", "else");
    for (;;) {
      const marker = this.#u16();
      const end = this.#at + this.#u16();
      if (marker < 0xff00 || end > this.#data.length)
        throw violation("a JPEG image has whole segments", marker);
      if (marker === 0xffc0 || marker === 0xffc1) this.#readFrame();
      else if (marker === 0xffc4) this.#readHuffman(end);
      else if (marker === 0xffdb) this.#readQuantization(end);
      else if (marker === 0xffdd) this.#restart = this.#u16();
      else if (marker === 0xffda) {
        this.#readScanHeader();
        this.#at = end;
        this.#readScan();
        return this.#toRgba();
      } else if (marker >= 0xffc2 && marker <= 0xffcf)
        throw violation("a JPEG image is a baseline one", marker);
      this.#at = end;
    }
  }

  #u8(): number {
    const value = this.#data[this.#at++];
    if (value === undefined) throw violation("a JPEG image is whole", "cut off");
    return value;
  }

  #u16(): number {
    return (this.#u8() << 8) | this.#u8();
  }

  #readQuantization(end: number): void {
    while (this.#at < end) {
      const kind = this.#u8();
      const table = new Uint16Array(64);
      for (const place of ZIGZAG) table[place] = kind >> 4 ? this.#u16() : this.#u8();
      this.#quantization[kind & 15] = table;
    }
  }

  #readHuffman(end: number): void {
    while (this.#at < end) {
      const kind = this.#u8();
      const counts = Array.from({ length: 16 }, () => this.#u8());
      const total = counts.reduce((sum, count) => sum + count, 0);
      const symbols = Array.from({ length: total }, () => this.#u8());
      this.#huffman.set(kind, huffmanTable(counts, symbols));
    }
  }

  #readFrame(): void {
    const bits = this.#u8();
    const [height, width] = [this.#u16(), this.#u16()];
    if (bits !== 8) throw violation("a JPEG image has 8 bits", bits);
    if (width !== this.#expected.width || height !== this.#expected.height) {
      throw violation("a JPEG image is as large as its rectangle", `${String(width)}x${String(height)}`);
    }
    const count = this.#u8();
    if (count !== 1 && count !== 3) throw violation("a JPEG image has 1 or 3 components", count);
    this.#components = Array.from({ length: count }, () => this.#readComponent());
    const [mostH, mostV] = this.#mostSamples();
    for (const component of this.#components) {
      const columns = Math.ceil(width / (8 * mostH)) * component.horizontal;
      const rows = Math.ceil(height / (8 * mostV)) * component.vertical;
      component.stride = columns * 8;
      component.samples = new Uint8Array(component.stride * rows * 8);
    }
  }

  #readComponent(): Component {
    const [id, sampling, quantization] = [this.#u8(), this.#u8(), this.#u8()];
    const [horizontal, vertical] = [sampling >> 4, sampling & 15];
    if (![1, 2, 4].includes(horizontal) || ![1, 2, 4].includes(vertical)) {
      throw violation("a JPEG component is sampled 1, 2 or 4 times", sampling);
    }
    const samples = new Uint8Array(0);
    return {
      id,
      horizontal,
      vertical,
      quantization,
      dc: undefined,
      ac: undefined,
      stride: 0,
      samples,
      predictor: 0,
    };
  }

  #mostSamples(): [horizontal: number, vertical: number] {
    const most = (key: "horizontal" | "vertical"): number => Math.max(...this.#components.map((c) => c[key]));
    return [most("horizontal"), most("vertical")];
  }

  #readScanHeader(): void {
    const count = this.#u8();
    if (count !== this.#components.length) throw violation("a JPEG image has one scan", count);
    for (let i = 0; i < count; i++) {
      const [id, tables] = [this.#u8(), this.#u8()];
      const component = this.#components.find((each) => each.id === id);
      if (!component) throw violation("a JPEG scan names components of its frame", id);
      component.dc = this.#huffman.get(tables >> 4);
      component.ac = this.#huffman.get(0x10 | (tables & 15));
    }
  }

  #readScan(): void {
    const reader = new ScanReader(this.#data, this.#at);
    const [mostH, mostV] = this.#mostSamples();
    const columns = Math.ceil(this.#expected.width / (8 * mostH));
    const units = columns * Math.ceil(this.#expected.height / (8 * mostV));
    for (let unit = 0; unit < units; unit++) {
      if (this.#restart > 0 && unit > 0 && unit % this.#restart === 0) {
        reader.restart();
        for (const component of this.#components) component.predictor = 0;
      }
      for (const component of this.#components) {
        const [left, top] = [
          (unit % columns) * component.horizontal,
          Math.floor(unit / columns) * component.vertical,
        ];
        this.#readUnit(reader, component, left, top);
      }
    }
  }

  #readUnit(reader: ScanReader, component: Component, left: number, top: number): void {
    const { dc, ac } = component;
    const quantization = this.#quantization[component.quantization];
    if (!dc || !ac || !quantization) throw violation("a JPEG image has the tables that it uses", "none");
    for (let row = 0; row < component.vertical; row++) {
      for (let column = 0; column < component.horizontal; column++) {
        const block = reader.block(dc, ac, quantization, component.predictor);
        component.predictor = reader.predictor;
        const at = (top + row) * 8 * component.stride + (left + column) * 8;
        inverseTransform(block, component.samples, at, component.stride);
      }
    }
  }

  #toRgba(): Uint8Array {
    const { width, height } = this.#expected;
    const [mostH, mostV] = this.#mostSamples();
    const output = new Uint8ClampedArray(width * height * 4);
    const sampler = (component: Component | undefined): ((x: number, y: number) => number) => {
      if (!component) return () => 128;
      const { samples, stride } = component;
      const [h, v] = [component.horizontal / mostH, component.vertical / mostV];
      return (x, y) => samples[Math.floor(y * v) * stride + Math.floor(x * h)]!;
    };
    const [luma, blue, red] = [0, 1, 2].map((i) => sampler(this.#components[i]));
    for (let y = 0, at = 0; y < height; y++) {
      for (let x = 0; x < width; x++, at += 4) {
        const [l, b, r] = [luma!(x, y), blue!(x, y) - 128, red!(x, y) - 128];
        output[at] = l + 1.402 * r;
        output[at + 1] = l - 0.344136 * b - 0.714136 * r;
        output[at + 2] = l + 1.772 * b;
        output[at + 3] = 255;
      }
    }
    return new Uint8Array(output.buffer);
  }
}
