import fc from "fast-check";
import assert from "node:assert/strict";
import { lstatSync, rmSync } from "node:fs";
import { test } from "vitest";
import { git, inFolder, read, temporaryFolder, write } from "./_testing.ts";
import type { TestEntry } from "./_testing.ts";
import { rest } from "./_testing_tracker.ts";
import { Tracker } from "./_tracker.ts";
import type { FileDiff } from "./file_diff.ts";
import type { FileTrackingLimits } from "./file_tracking_limits.ts";
import { toPatch } from "./to_patch.ts";

/** A step of an agent at work. */
const step = fc.record({
  name: fc.constantFrom("a", "b.txt", "d/a", "d/e/f", "d", "x y", "caf\xc3\xa9", "\xff"),
  entry: fc.oneof(
    fc.constant(undefined),
    fc
      .constantFrom("", "1\n", "1\n2\n3\n", "no newline", "\0binary", "\xff\xfe")
      .map((text) => Buffer.from(text, "latin1")),
    fc.constantFrom("gone", "../outside").map((target) => ({ target })),
    fc.constantFrom(0o644, 0o755).map((mode) => ({ content: "mode\n", mode })),
  ),
  report: fc.constantFrom("none", "none", "arrives", "is lost"),
});

/** Limits under which every change is told of in the end; those of the last may leave content out for good. */
const limits = fc.constantFrom<Partial<FileTrackingLimits>>(
  {},
  { diffBytes: 500 },
  { diffBytes: 300, scanBytes: 20, fileBytes: 20 },
);

function perform(root: string, name: string, entry: TestEntry | undefined): void {
  const path = inFolder(root, name);
  const parts = name.split("/");
  for (let length = 1; length < parts.length; length++) {
    const above = inFolder(root, parts.slice(0, length).join("/"));
    if (!lstatSync(above, { throwIfNoEntry: false })?.isDirectory())
      rmSync(above, { recursive: true, force: true });
  }
  rmSync(path, { recursive: true, force: true });
  if (entry === undefined) return;
  write(root, { [name]: entry });
}

/** Whether a round tells of all its changes by patches. */
function isComplete(round: readonly FileDiff[]): boolean {
  return !round.some(({ patches }) => patches.some(({ patch }) => !/^diff|^$/.test(patch)));
}

test(
  "the diffs of a session, one after the other, turn a copy of the start into the end",
  { timeout: 120_000 },
  () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), limits, (steps, limited) => {
        const start = { a: "start\n", "d/e/f": "1\n2\n", gone: "x" };
        const [root, copy] = [temporaryFolder(), temporaryFolder()];
        write(root, start);
        write(copy, start);
        const tracker = new Tracker(root, { limits: limited });
        tracker.start();
        const rounds: FileDiff[][] = [];
        for (const { name, entry, report } of steps) {
          perform(root, name, entry);
          if (report === "arrives") rounds.push(rest(tracker));
          else if (report === "is lost") tracker.diff().settle(false);
        }
        rounds.push(rest(tracker));
        const known = rounds.findIndex((round) => !isComplete(round));
        if (!limited.scanBytes) assert.equal(known, -1, "every change must have its patch");
        for (const round of known < 0 ? rounds : rounds.slice(0, known)) {
          const patch = toPatch(...round);
          if (/^diff/m.test(patch))
            assert.equal(git(copy, ["apply", "--whitespace=nowarn", "-"], patch).err, "", patch);
        }
        if (known < 0) assert.deepEqual(read(copy), read(root));
      }),
      { numRuns: 60 },
    );
  },
);
