import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Sandbox, bwrapCommand } from "@envport/sandbox";

/** One measured figure beside its reference. */
export interface Row {
  metric: string;
  unit: string;
  ours: number;
  reference: string;
  theirs: number;
  /** Better when larger; for times it is theirs / ours. */
  ratio: number;
  target: number;
  ok: boolean;
}

/** What both a process of ours and one of Node's have. */
interface Running {
  readonly stdout: Readable;
  readonly exit: Promise<unknown>;
}

type Start = (argv: readonly string[]) => Promise<Running>;

const MIB = 2 ** 20;
const BASH = ["bash", "-c", "exit 0"];

/**
 * A command in a running sandbox beside one without, and beside one in a fresh sandbox. Each round measures one and then
 * the other; the median of the rounds counts.
 *
 * @param options With `quick`, less of everything.
 */
export async function run({ quick }: { quick: boolean }): Promise<Row[]> {
  const root = await mkdtemp(join(tmpdir(), "bench-spawn-"));
  await using sandbox = new Sandbox({ root });
  await sandbox.start();
  const inside: Start = async (argv) => sandbox.spawn({ argv });
  const bare: Start = async ([program = "", ...words]) => started(spawn(program, words, { cwd: root }));
  const fresh: Start = async (argv) => {
    const [program = "", ...words] = bwrapCommand({ root }, { argv });
    return started(spawn(program, words));
  };
  const rounds = quick ? 5 : 15;
  const count = quick ? 20 : 60;
  const size = quick ? 128 : 512;
  const rows = [
    await compare(
      "one after another, beside no sandbox",
      "ms",
      rounds,
      "child_process",
      0.7,
      [inside, bare],
      (start) => sequential(start, count),
    ),
    await compare(
      "one after another, beside a fresh sandbox",
      "ms",
      rounds,
      "bwrap",
      2,
      [inside, fresh],
      (start) => sequential(start, count),
    ),
    await compare(
      "100 at once, beside no sandbox",
      "ms",
      rounds,
      "child_process",
      0.7,
      [inside, bare],
      (start) => parallel(start, 100),
    ),
    await compare("bulk output", "MB/s", rounds, "child_process", 0.7, [inside, bare], (start) =>
      bulk(start, size),
    ),
  ];
  await rm(root, { recursive: true, force: true });
  return rows;
}

function started(child: ChildProcess): Running {
  child.stderr?.resume();
  return { stdout: child.stdout!, exit: new Promise((resolve) => child.once("close", resolve)) };
}

async function finished(start: Start, argv: readonly string[]): Promise<void> {
  const process = await start(argv);
  process.stdout.resume();
  await process.exit;
}

async function sequential(start: Start, count: number): Promise<number> {
  const begin = performance.now();
  for (let index = 0; index < count; index++) await finished(start, BASH);
  return (performance.now() - begin) / count;
}

async function parallel(start: Start, count: number): Promise<number> {
  const begin = performance.now();
  await Promise.all(Array.from({ length: count }, () => finished(start, BASH)));
  return performance.now() - begin;
}

async function bulk(start: Start, size: number): Promise<number> {
  const begin = performance.now();
  const { stdout } = await start(["head", "-c", String(size * MIB), "/dev/zero"]);
  await new Promise((resolve) => stdout.resume().once("end", resolve));
  return size / ((performance.now() - begin) / 1000);
}

async function compare(
  metric: string,
  unit: "ms" | "MB/s",
  rounds: number,
  reference: string,
  target: number,
  [mine, other]: readonly [Start, Start],
  work: (start: Start) => Promise<number>,
): Promise<Row> {
  const figures: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    figures[0].push(await work(mine));
    figures[1].push(await work(other));
  }
  const [ours, theirs] = [median(figures[0]), median(figures[1])];
  const ratio = unit === "ms" ? theirs / ours : ours / theirs;
  const round = (value: number): number => Number(value.toPrecision(3));
  return {
    metric,
    unit,
    ours: round(ours),
    reference,
    theirs: round(theirs),
    ratio: round(ratio),
    target,
    ok: ratio >= target,
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((first, second) => first - second)[values.length >> 1]!;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await run({ quick: process.argv.includes("--quick") });
  if (process.argv.includes("--json")) console.log(JSON.stringify({ bench: "spawn", rows }));
  else console.table(rows);
}
