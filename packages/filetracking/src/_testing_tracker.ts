/** What tests of the tracker have in common. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { temporaryFolder, write } from "./_testing.ts";
import type { TestEntry } from "./_testing.ts";
import { Tracker } from "./_tracker.ts";
import type { TrackerOptions } from "./_tracker.ts";
import type { FileDiff, FilePatch } from "./file_diff.ts";

/** A tree, and a tracker that has taken it as its baseline. */
export function start(
  files: Record<string, TestEntry> = {},
  options: TrackerOptions = {},
): { root: string; tracker: Tracker } {
  const root = temporaryFolder();
  write(root, files);
  const tracker = new Tracker(root, options);
  tracker.start();
  return { root, tracker };
}

/** A diff that has arrived. */
export function diff(tracker: Tracker): FileDiff {
  const { report, settle } = tracker.diff();
  settle(true);
  return report;
}

/** Diffs until nothing is left. */
export function rest(tracker: Tracker): FileDiff[] {
  const diffs = [diff(tracker)];
  while (diffs.at(-1)!.truncated) {
    assert.ok(
      diffs.at(-1)!.patches.length > 0,
      `a truncated diff must bring something: ${JSON.stringify(diffs)}`,
    );
    diffs.push(diff(tracker));
  }
  return diffs;
}

export function byPath({ patches }: FileDiff): Record<string, FilePatch> {
  return Object.fromEntries(patches.map((patch) => [patch.path, patch]));
}

export function statuses({ patches }: FileDiff): Record<string, string> {
  return Object.fromEntries(patches.map(({ path, status }) => [path, status]));
}

export const sha256 = (content: string): string =>
  spawnSync("sha256sum", { input: content, encoding: "utf8" }).stdout.slice(0, 64);
