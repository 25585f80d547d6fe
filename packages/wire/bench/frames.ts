import { FrameReader, parseFrame } from "@envport/wire";
import { fileURLToPath } from "node:url";

/** One measured figure beside its reference. */
export interface Row {
  metric: string;
  unit: string;
  ours: number;
  reference: string;
  theirs: number | null;
  /** Better when larger; for times it is theirs / ours. */
  ratio: number | null;
  target: number | null;
  ok: boolean | null;
}

const MIB = 1024 * 1024;
/** Within 1.5 times of the reference. */
const TARGET = 0.667;
/** A small frame is a function call or two beside the parsing of a few bytes. */
const SMALL_TARGET = 0.5;

/**
 * How fast lines are found and parsed, beside UTF-8 decoding and `JSON.parse` alone on the same bytes. Both sides are
 * measured in turn in each round, in time of the processor, and of each the best round counts: what neighbours on the
 * machine do can only add to it.
 *
 * @param options With `quick`, fewer rounds.
 */
export async function run({ quick }: { quick: boolean }): Promise<Row[]> {
  const rounds = quick ? 8 : 24;
  const frame = largeFrame(16 * MIB);
  const rows = [
    largeFrames("16 MiB frame, 64-KiB chunks", frame, split(frame, 64 * 1024), rounds, TARGET),
    largeFrames("16 MiB frame, 1-KiB chunks", frame, split(frame, 1024), rounds, TARGET),
    largeFrames("16 MiB frame, 1-byte chunks", frame, bytes(frame), Math.ceil(rounds / 4), null),
    linearity(frame, Math.ceil(rounds / 4)),
    smallFrames(rounds),
  ];
  return await Promise.resolve(rows);
}

/** One line, its newline included: an array of small objects. */
function largeFrame(size: number): Buffer {
  const objects: string[] = [];
  for (let i = 0, length = 3; ; i++) {
    const text = JSON.stringify({ id: i, name: `item-${String(i)}`, ok: i % 2 === 0, score: i / 7 });
    length += text.length + 1;
    if (length > size) break;
    objects.push(text);
  }
  return Buffer.from(`[${objects.join(",")}]\n`);
}

function split(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += size) chunks.push(bytes.subarray(start, start + size));
  return chunks;
}

/** Chunks of one byte; there are only 256 different ones, so that making them is not what is measured. */
function bytes(frame: Buffer): Iterable<Buffer> {
  const single = Array.from({ length: 256 }, (_, byte) => Buffer.from([byte]));
  return {
    *[Symbol.iterator]() {
      for (const byte of frame) yield single[byte]!;
    },
  };
}

/** Takes every line out of the chunks as they come, and parses it; returns the number of lines. */
function readAll(chunks: Iterable<Buffer>): number {
  const reader = new FrameReader();
  let lines = 0;
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let line = reader.next(); line !== undefined; line = reader.next()) {
      parseFrame(line);
      lines++;
    }
  }
  return lines;
}

/**
 * The best times of two kinds of work in milliseconds of processor time. They are done in turn, now the one first and
 * now the other, so that each sweeps the other's garbage as often.
 */
function compare(
  rounds: number,
  first: () => unknown,
  second: () => unknown,
): { first: number; second: number } {
  const best = { first: Infinity, second: Infinity };
  for (let round = 0; round < rounds; round++) {
    for (const which of round % 2 ? (["second", "first"] as const) : (["first", "second"] as const)) {
      best[which] = Math.min(best[which], processorTime(which === "first" ? first : second));
    }
  }
  return best;
}

function processorTime(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

function largeFrames(
  metric: string,
  frame: Buffer,
  chunks: Iterable<Buffer>,
  rounds: number,
  target: number | null,
): Row {
  const reference = (): unknown => JSON.parse(frame.toString("utf8"));
  const { first, second } = compare(rounds, reference, () => readAll(chunks));
  return row(metric, "ms", second, "UTF-8 decode + JSON.parse alone", first, first / second, target);
}

/** Four times the bytes in chunks of one byte, found but not parsed: in linear time that takes four times as long. */
function linearity(frame: Buffer, rounds: number): Row {
  const find = (line: Buffer): void => {
    const reader = new FrameReader();
    for (const chunk of bytes(line)) {
      reader.push(chunk);
      reader.next();
    }
  };
  const quarter = frame.subarray(0, frame.length / 4);
  const { first, second } = compare(
    rounds,
    () => find(quarter),
    () => find(frame),
  );
  const times = second / first;
  return row(
    "16 MiB against 4 MiB, 1-byte chunks",
    "times as long",
    times,
    "linear time",
    4,
    4 / times,
    TARGET,
  );
}

function smallFrames(rounds: number): Row {
  const line = '{"jsonrpc":"2.0","id":12345,"method":"tasks.start","params":{"id":"fix-tests","n":1}}\n';
  const count = 200_000;
  const chunks = split(Buffer.from(line.repeat(count)), 64 * 1024);
  const texts = Array.from({ length: count }, () => Buffer.from(line));
  const parseOnly = (): void => {
    for (const text of texts) JSON.parse(text.toString("utf8"));
  };
  const { first, second } = compare(rounds, parseOnly, () => readAll(chunks));
  const perSecond = (time: number): number => (count / time) * 1000;
  const reference = "UTF-8 decode + JSON.parse alone, lines given";
  const metric = `${String(line.length)}-byte frames, 64-KiB chunks`;
  return row(
    metric,
    "frames/s",
    perSecond(second),
    reference,
    perSecond(first),
    first / second,
    SMALL_TARGET,
  );
}

function row(
  metric: string,
  unit: string,
  ours: number,
  reference: string,
  theirs: number,
  ratio: number,
  target: number | null,
): Row {
  const round = (value: number): number => Number(value.toPrecision(3));
  const ok = target === null ? null : ratio >= target;
  return {
    metric,
    unit,
    ours: round(ours),
    reference,
    theirs: round(theirs),
    ratio: round(ratio),
    target,
    ok,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await run({ quick: process.argv.includes("--quick") });
  if (process.argv.includes("--json")) console.log(JSON.stringify({ bench: "frames", rows }));
  else console.table(rows);
}
