import { parseDType, swapBytes } from "./_dtype.ts";
import { Writer } from "./_writer.ts";
import { Float64 } from "./float64.ts";
import { NdArray } from "./nd_array.ts";
import { NumpyScalar } from "./numpy_scalar.ts";

/** How deep a frame may be nested. */
export const MAX_DEPTH = 64;

const latin1 = (text: string): Uint8Array => Buffer.from(text, "latin1");
// Python's keys are bytes, which msgpack has as binaries (c4, length, bytes): no text key can be mistaken for one.
const ARRAY_HEAD = latin1("\x84\xc4\x0b__ndarray__\xc3\xc4\x04data");
const SCALAR_HEAD = latin1("\x83\xc4\x0d__npgeneric__\xc3\xc4\x04data");
const DTYPE_KEY = latin1("\xc4\x05dtype");
const SHAPE_KEY = latin1("\xc4\x05shape");

/**
 * Writes a value into memory of the caller's.
 *
 * @param allocate Gives memory of this size at least; the frame is at its beginning.
 * @returns How many bytes it takes.
 */
export function writeFrame(value: unknown, allocate: (size: number) => Uint8Array<ArrayBuffer>): number {
  // Measured first, so that the one allocation is of the right size: page faults cost more than the copy.
  const measure = new Writer(undefined);
  write(measure, value, "$", 0);
  write(new Writer(allocate(measure.length)), value, "$", 0);
  return measure.length;
}

function write(out: Writer, value: unknown, at: string, depth: number): void {
  if (value === null) out.byte(0xc0);
  else if (typeof value === "object") writeObject(out, value, at, depth);
  else if (typeof value === "string") writeText(out, value, at);
  else if (typeof value === "number") writeNumber(out, value);
  else if (typeof value === "boolean") out.byte(value ? 0xc3 : 0xc2);
  else if (typeof value === "bigint") writeBigInt(out, value, at);
  else throw unspeakable(at, typeof value);
}

function writeNumber(out: Writer, value: number): void {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) out.integer(value);
  else out.float(value);
}

function writeBigInt(out: Writer, value: bigint, at: string): void {
  if (BigInt.asUintN(64, value) !== value && BigInt.asIntN(64, value) !== value) {
    const rule = "an integer must fit in 64 bits";
    throw new RangeError(`Cannot encode ${at} as ${rule}: current value is ${String(value)}`);
  }
  out.integer(value);
}

function writeText(out: Writer, text: string, at: string): void {
  if (!(text as string & { isWellFormed(): boolean }).isWellFormed()) {
    throw new TypeError(
      `Cannot encode ${at} as text must be well-formed Unicode: current value is ${JSON.stringify(text)}`,
    );
  }
  out.text(text);
}

function writeObject(out: Writer, value: object, at: string, depth: number): void {
  if (depth >= MAX_DEPTH) {
    throw new RangeError(`Cannot encode frame as it must not be nested deeper than ${String(MAX_DEPTH)}`);
  }
  if (value instanceof NdArray) writeArray(out, value as NdArray);
  else if (value instanceof NumpyScalar) writeScalar(out, value);
  else if (value instanceof Float64) out.float(value.value);
  else if (value instanceof Uint8Array) out.binary(value);
  else if (Array.isArray(value)) writeList(out, value, at, depth);
  else writeMap(out, entriesOf(value, at), at, depth);
}

function writeList(out: Writer, list: readonly unknown[], at: string, depth: number): void {
  out.sequence(list.length, 0x90, 0xdc);
  list.forEach((item, index) => {
    write(out, item, `${at}[${String(index)}]`, depth + 1);
  });
}

function writeMap(out: Writer, entries: readonly [string, unknown][], at: string, depth: number): void {
  out.sequence(entries.length, 0x80, 0xde);
  for (const [key, item] of entries) {
    writeText(out, key, at);
    write(out, item, `${at}.${key}`, depth + 1);
  }
}

function writeArray(out: Writer, array: NdArray): void {
  const { data, dtype, shape } = array;
  const { size, swapped } = parseDType(dtype);
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  out.raw(ARRAY_HEAD);
  out.binary(swapped && !out.measuring ? swapBytes(raw, size) : raw);
  out.raw(DTYPE_KEY);
  out.text(dtype);
  out.raw(SHAPE_KEY);
  out.sequence(shape.length, 0x90, 0xdc);
  for (const dimension of shape) out.integer(dimension);
}

function writeScalar(out: Writer, { value, dtype }: NumpyScalar): void {
  out.raw(SCALAR_HEAD);
  if (typeof value === "boolean") out.byte(value ? 0xc3 : 0xc2);
  else if (dtype[1] === "f") out.float(Number(value));
  else out.integer(value);
  out.raw(DTYPE_KEY);
  out.text(dtype);
}

function entriesOf(value: object, at: string): [string, unknown][] {
  if (value instanceof Map) {
    const entries = [...(value as Map<unknown, unknown>)];
    if (entries.every((entry): entry is [string, unknown] => typeof entry[0] === "string")) return entries;
    throw unspeakable(at, "Map with keys that are no strings");
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return Object.entries(value);
  throw unspeakable(at, Object.prototype.toString.call(value).slice(8, -1));
}

function unspeakable(at: string, what: string): TypeError {
  return new TypeError(
    `Cannot encode ${at} as it must be null, a boolean, a number, text, bytes, an NdArray, or a list or plain object of these: current value is of type ${what}`,
  );
}
