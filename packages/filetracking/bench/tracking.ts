import { FileTracker } from "@envport/filetracking";
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
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
  /** Why there is no reference. */
  reason?: string;
}

const FILES_PER_FOLDER = 100;
/** Within four times of git. */
const TARGET = 0.25;
const PAUSE_MS = 50;

/**
 * How long a tracker takes to see that nothing, or little, has changed, beside git on the same tree. Both are measured in
 * turn in each round, and of each the best round counts: what neighbours on the machine do can only add to it.
 *
 * @param options With `quick`, 10,000 files instead of 100,000, and fewer rounds.
 */
export async function run({ quick }: { quick: boolean }): Promise<Row[]> {
  const files = quick ? 10_000 : 100_000;
  const rounds = quick ? 7 : 11;
  const root = mkdtempSync(join(tmpdir(), "tracking-bench-"));
  try {
    makeTree(root, files);
    const git = hasGit(root) ? gitIn(root) : undefined;
    await sleep(2100); // files of the same second as its index are read again by git
    git?.("status", "--porcelain");
    await using tracker = new FileTracker(root);
    const began = performance.now();
    await tracker.start();
    const baseline = performance.now() - began;
    return [
      await unchanged(tracker, git, files, rounds),
      await changed(tracker, git, root, files, rounds),
      row(
        `baseline of ${count(files)} files`,
        "ms",
        baseline,
        "git add of the same files",
        git ? addAgain(root) : null,
        null,
      ),
      await pause(tracker, root, rounds),
    ];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

type Git = (...words: string[]) => number;

async function unchanged(
  tracker: FileTracker,
  git: Git | undefined,
  files: number,
  rounds: number,
): Promise<Row> {
  let [ours, theirs] = [Infinity, Infinity];
  for (let round = 0; round < rounds; round++) {
    ours = Math.min(ours, await timed(async () => await tracker.diff()));
    if (git) theirs = Math.min(theirs, git("status", "--porcelain"));
  }
  const metric = `rescan of ${count(files)} unchanged files`;
  return row(metric, "ms", ours, "git status", git ? theirs : null, TARGET);
}

async function changed(
  tracker: FileTracker,
  git: Git | undefined,
  root: string,
  files: number,
  rounds: number,
): Promise<Row> {
  let [ours, theirs] = [Infinity, Infinity];
  const share = files / 100;
  for (let round = 0; round < rounds; round++) {
    for (let index = 0; index < share; index++)
      appendFileSync(pathOf(root, index * 100 + 7), `round ${String(round)}\n`);
    ours = Math.min(ours, await timed(async () => await tracker.diff()));
    if (git) theirs = Math.min(theirs, git("diff", "--no-ext-diff"));
    git?.("add", "-u");
  }
  const metric = `diff of ${count(share)} changed files among ${count(files)}`;
  return row(metric, "ms", ours, "git diff", git ? theirs : null, TARGET);
}

/** How long a scan of everything keeps the program from doing anything else. */
async function pause(tracker: FileTracker, root: string, rounds: number): Promise<Row> {
  let longest = Infinity;
  for (let round = 0; round < rounds; round++) {
    writeFileSync(`${root}/large.txt`, `round ${String(round)}\n`.repeat(100_000));
    const pauses = monitorEventLoopDelay({ resolution: 1 });
    pauses.enable();
    await sleep(20);
    await tracker.flush();
    await sleep(20);
    pauses.disable();
    longest = Math.min(longest, pauses.max / 1e6);
  }
  return row("longest pause of the program while it scans", "ms", longest, "the promise", PAUSE_MS, 1);
}

/** The time that git takes to hash and store every file anew. */
function addAgain(root: string): number {
  rmSync(`${root}/.git`, { recursive: true });
  const git = gitIn(root);
  return git("add", "-A");
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function pathOf(root: string, index: number): string {
  const folder = Math.floor(index / FILES_PER_FOLDER);
  return `${root}/part${String(folder % 10)}/folder${String(folder)}/file${String(index)}.ts`;
}

function makeTree(root: string, files: number): void {
  for (let index = 0; index < files; index++) {
    const path = pathOf(root, index);
    if (index % FILES_PER_FOLDER === 0) mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    writeFileSync(path, `export const value${String(index)} = ${String(index)};\n`.repeat(5));
  }
}

function hasGit(root: string): boolean {
  return spawnSync("git", ["init", "-q"], { cwd: root }).status === 0 && gitIn(root)("add", "-A") >= 0;
}

/** Runs git in a folder; returns the time that it took, in milliseconds. */
function gitIn(root: string): Git {
  spawnSync("git", ["init", "-q"], { cwd: root });
  return (...words) => {
    const began = performance.now();
    const { status, stderr } = spawnSync("git", words, { cwd: root, maxBuffer: 1024 ** 3 });
    const time = performance.now() - began;
    if (status !== 0) throw new Error(`Cannot measure git ${words.join(" ")}: ${stderr.toString()}`);
    return time;
  };
}

function count(files: number): string {
  return files.toLocaleString("en");
}

function row(
  metric: string,
  unit: string,
  ours: number,
  reference: string,
  theirs: number | null,
  target: number | null,
): Row {
  const round = (value: number): number => Number(value.toPrecision(3));
  const ratio = theirs === null ? null : round(theirs / ours);
  return {
    metric,
    unit,
    ours: round(ours),
    reference,
    theirs: theirs === null ? null : round(theirs),
    ratio,
    target,
    ok: target === null || ratio === null ? null : ratio >= target,
    ...(theirs === null && { reason: "git is not installed" }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await run({ quick: process.argv.includes("--quick") });
  for (const { metric, unit, ours, theirs, ratio, target, ok } of rows) {
    const figure = (value: number | null): string => (value === null ? "-" : value.toFixed(1)).padStart(9);
    process.stderr.write(
      `${metric.padEnd(44)} ${figure(ours)} ${figure(theirs)} ${unit.padEnd(5)} ${ratio?.toFixed(2) ?? "-"} (${String(target ?? "-")}) ${String(ok)}\n`,
    );
  }
  if (process.argv.includes("--json")) console.log(JSON.stringify({ bench: "tracking", rows }));
}
