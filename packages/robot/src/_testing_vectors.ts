/** The golden vectors: what Python's codec makes and takes. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseDType, swapBytes } from "./_dtype.ts";
import type { FrameValue } from "./encode.ts";
import { Float64 } from "./float64.ts";
import type { DType } from "./nd_array.ts";
import { NdArray } from "./nd_array.ts";
import { NumpyScalar } from "./numpy_scalar.ts";

/** A value as the vectors describe it. */
export interface Described {
  t: string;
  value?: string | number | boolean;
  hex?: string;
  items?: Described[];
  entries?: [Described, Described][];
  dtype?: string;
  shape?: number[];
  data_hex?: string;
  data_sha256?: string;
  [key: string]: unknown;
}

/** One vector. */
export interface Vector {
  name: string;
  kind: "roundtrip" | "encode_error" | "decode" | "decode_error" | "decode_lenient";
  python_expr?: string;
  packed?: { length: number; sha256: string; hex?: string; head_hex?: string; tail_hex?: string };
  decoded?: Described;
  ts_expected?: string;
  [key: string]: unknown;
}

const file = new URL("testdata/msgpack_numpy_vectors.json", import.meta.url);

/** All 147. */
export const vectors: readonly Vector[] = (JSON.parse(readFileSync(file, "utf8")) as { cases: Vector[] })
  .cases;

/** Bytes by the formula of the vectors, so that the large ones need not be stored. */
export function pattern(size: number, seed = 0): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => (7 * i + 13 * Math.floor(i / 256) + seed) & 255);
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const LARGE = [
  pattern(65_536),
  pattern(65_535),
  pattern(224 * 224 * 3),
  pattern(224 * 224 * 3, 31),
  new Uint8Array(Float32Array.from({ length: 350 }, (_, i) => i / 350).buffer),
  new Uint8Array(300),
];

/** The bytes of an array in a vector. */
function dataOf(described: Described): Uint8Array {
  if (described.data_hex !== undefined) return Buffer.from(described.data_hex, "hex");
  const found = LARGE.find((bytes) => sha256(bytes) === described.data_sha256);
  if (!found) throw new Error(`No data for ${JSON.stringify(described)}`);
  return found;
}

function numberOf({ value, bits }: Described): number {
  if (typeof bits === "string") return Buffer.from(bits, "hex").readDoubleBE();
  return typeof value === "string" ? Number(value.replace("inf", "Infinity")) : Number(value);
}

function whole(text: unknown): number | bigint {
  const value = BigInt(String(text));
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** The value that a vector describes, as `decode` gives it with `exact`. */
export function build(described: Described): FrameValue {
  const { t, value, dtype, shape, hex, items, entries } = described;
  switch (t) {
    case "nil":
      return null;
    case "bool":
    case "str":
      return value as boolean | string;
    case "int":
      return whole(value);
    case "float": {
      const number = numberOf(described);
      return Number.isSafeInteger(number) && !Object.is(number, -0) ? new Float64(number) : number;
    }
    case "bin":
      return new Uint8Array(Buffer.from(hex!, "hex"));
    case "array":
      return items!.map(build);
    case "map":
      return new Map(entries!.map(([key, item]) => [build(key) as string, build(item)]));
    case "ndarray": {
      const { size, swapped, array } = parseDType(dtype as DType);
      const raw = dataOf(described);
      const bytes = swapped ? swapBytes(raw, size) : Uint8Array.from(raw);
      return new NdArray(new array(bytes.buffer), shape, dtype as DType);
    }
    case "npgeneric": {
      const kind = dtype![1]!;
      const scalar = kind === "b" ? Boolean(value) : kind === "f" ? numberOf(described) : whole(value);
      return new NumpyScalar(scalar, dtype as DType);
    }
    default:
      throw new Error(`Unknown kind ${t}`);
  }
}

/** The bytes of a vector; of a large one made from its description. */
export function packedOf(vector: Vector): Uint8Array {
  const { hex, head_hex: head, length } = vector.packed!;
  if (hex !== undefined) return Buffer.from(hex, "hex");
  const name = vector.name;
  const array = (data: Uint8Array, shape: string): Buffer[] => [
    Buffer.from("84c40b5f5f6e6461727261795f5fc3c40464617461", "hex"),
    data.length > 0xffff ? Buffer.from([0xc6, 0, ...u24(data.length)]) : Buffer.from([0xc5, 0xff, 0xff]),
    Buffer.from(data),
    Buffer.from("c4056474797065a37c7531c4057368617065" + shape, "hex"),
  ];
  let parts: Buffer[];
  if (name === "lay_shape_u32") parts = array(LARGE[0]!, "92ce0001000001");
  else if (name === "lay_bin16_65535") parts = array(LARGE[1]!, "91cdffff");
  else {
    const key = (text: string): Buffer =>
      Buffer.concat([Buffer.from([0xa0 + text.length]), Buffer.from(text)]);
    // The state and the end are those of the small frame.
    const small = vectors.find((other) => other.name === "frame_obs_small")!.packed!.hex!;
    const rest = small.slice(small.indexOf(key("observation/state").toString("hex")));
    parts = [Buffer.from([0x84]), key("observation/image"), ...array(LARGE[2]!, "93cce0cce003")];
    parts.push(key("observation/wrist_image"), ...array(LARGE[3]!, "93cce0cce003"), Buffer.from(rest, "hex"));
  }
  const bytes = Buffer.concat(parts);
  if (bytes.length !== length || !bytes.toString("hex").startsWith(head!))
    throw new Error(`Cannot rebuild ${name}`);
  return bytes;
}

function u24(value: number): number[] {
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}
