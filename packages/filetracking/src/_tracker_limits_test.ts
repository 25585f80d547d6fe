import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { write } from "./_testing.ts";
import { byPath, diff, rest, sha256, start, statuses } from "./_testing_tracker.ts";
import type { FileCapture, FileDiff } from "./file_diff.ts";

test("setup() moves the baseline whole, also when it is truncated", () => {
  const { root, tracker } = start({}, { limits: { diffBytes: 300 } });
  write(root, Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`f${index}`, "x\n"])));
  const { report, settle } = tracker.setup();
  settle(true);
  assert.equal(report.truncated, true);
  assert.equal(report.files_changed, 10);
  assert.ok(report.patches.length < 10);
  assert.deepEqual(diff(tracker).patches, []);
  assert.equal(tracker.snapshot().files_scanned, 10);
});

test("what the limit of a diff leaves out stays pending until it is delivered", () => {
  const { root, tracker } = start({ gone: "g\n" }, { limits: { diffBytes: 400 } });
  write(
    root,
    Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`d${index % 3}/f${index}`, "x\n"])),
  );
  rmSync(`${root}/gone`);
  const told: string[] = [];
  let report: FileDiff;
  do {
    report = diff(tracker);
    assert.ok(report.patches.length > 0);
    assert.equal(report.files_changed, 21 - told.length);
    told.push(...report.patches.map(({ path }) => path));
  } while (report.truncated);
  assert.equal(told.length, 21);
  assert.equal(new Set(told).size, 21);
  assert.equal(diff(tracker).files_changed, 0);
});

test("a folder in the place of a file waits for the file's deletion, and is told of once", () => {
  const { root, tracker } = start({ d: "\0binary, and long enough\n" }, { limits: { diffBytes: 300 } });
  rmSync(`${root}/d`);
  write(root, { "d/e/f": "small\n", "d/g": "small\n", "d/h/i": { target: "g" } });
  assert.deepEqual(
    rest(tracker).flatMap(({ patches }) => patches.map(({ path, status }) => `${status} ${path}`)),
    ["deleted d", "added d/h/i", "added d/e/f", "added d/g"],
  );
});

test("a file in the place of a folder waits for every file's deletion, and is told of once", () => {
  const files = { "d/a": "1\n", "d/e/f": "\0binary, and long enough\n", "d/e/g": "2\n" };
  const { root, tracker } = start(files, { limits: { diffBytes: 300 } });
  write(root, { d: "" });
  assert.deepEqual(
    rest(tracker).flatMap(({ patches }) => patches.map(({ path, status }) => `${status} ${path}`)),
    ["deleted d/a", "deleted d/e/g", "deleted d/e/f", "added d"],
  );
});

test("what waits in a folder that is new takes no file of the same name out of the folder around it", () => {
  const { root, tracker } = start({ a: "1\n", d: "\0binary\n" }, { limits: { diffBytes: 300 } });
  rmSync(`${root}/d`);
  write(root, { a: "2\n", "d/a": "3\n" });
  assert.deepEqual(
    rest(tracker).flatMap(({ patches }) => patches.map(({ path, status }) => `${status} ${path}`)),
    ["deleted d", "modified a", "added d/a"],
  );
});

test("a lost report of a file in the place of a folder is told again whole", () => {
  const { root, tracker } = start({ "d/a": "1\n", "d/b": "2\n" });
  write(root, { d: "file\n" });
  tracker.diff().settle(false);
  const again = { d: "added", "d/a": "deleted", "d/b": "deleted" };
  assert.deepEqual(statuses(diff(tracker)), again);
  rmSync(`${root}/d`);
  write(root, { "d/a": "1\n" });
  tracker.diff().settle(false);
  assert.deepEqual(statuses(diff(tracker)), { d: "deleted", "d/a": "added" });
});

test("flush() delivers what a limit has left pending, too", () => {
  const { root, tracker } = start({}, { limits: { diffBytes: 100 } });
  write(root, { a: "x\n", b: "longer than the first one\n" });
  assert.equal(diff(tracker).truncated, true);
  const { report, settle } = tracker.flush();
  settle(true);
  assert.deepEqual(statuses(report.diff), { b: "added" });
  assert.equal(report.diff.truncated, undefined);
  assert.equal(diff(tracker).files_changed, 0);
});

test("no reply is longer as JSON than it may be, whatever is in the files", () => {
  const { root, tracker } = start({}, { limits: { replyBytes: 10_000 } });
  for (let index = 0; index < 10; index++) write(root, { [`f${index}`]: `${'\x01\t"'.repeat(300)}\n` });
  const reports = rest(tracker);
  assert.ok(reports.length > 1);
  for (const report of reports) expect(JSON.stringify(report).length).toBeLessThan(10_500);
  assert.equal(reports.flatMap(({ patches }) => patches).length, 10);
  assert.equal(tracker.snapshot().truncated, undefined);
  for (let index = 0; index < 40; index++) write(root, { [`g${index}-${"n".repeat(100)}`]: "" });
  rest(tracker);
  const manifest = tracker.snapshot();
  assert.equal(manifest.truncated, true);
  expect(JSON.stringify(manifest).length).toBeLessThan(10_500);
});

test("a pending change that is undone is never told of", () => {
  const { root, tracker } = start({}, { limits: { diffBytes: 100 } });
  write(root, { a: "x\n", b: "longer than the first one\n" });
  const first = diff(tracker);
  assert.deepEqual(statuses(first), { a: "added" });
  assert.equal(first.truncated, true);
  rmSync(`${root}/b`);
  const second = diff(tracker);
  expect(second).toMatchObject({ files_changed: 0, patches: [] });
  assert.equal(second.truncated, undefined);
});

test("what the limit of a scan leaves unread stays pending, and small files come first", () => {
  const { root, tracker } = start({}, { limits: { scanBytes: 10_000, fileBytes: 8000 } });
  write(root, { "0-large": "x".repeat(7000), "1-large": "y".repeat(7000), "2-small": "z\n" });
  const first = diff(tracker);
  assert.equal(first.truncated, true);
  assert.equal(first.files_changed, 3);
  assert.deepEqual(first.patches.map(({ path }) => path)[0], "2-small");
  assert.equal(first.patches.length, 2);
  const second = diff(tracker);
  assert.equal(second.patches.length, 1);
  assert.equal(second.truncated, undefined);
  assert.deepEqual(
    [...first.patches, ...second.patches].map(({ content_hash_after }) => content_hash_after?.length),
    [...[64, 64, 64]],
  );
});

test("a baseline over the limit of a scan is read on by later scans", async () => {
  const limits = { scanBytes: 10_000 };
  const { root, tracker } = start(
    { a: "a".repeat(6000), b: "b".repeat(6000), c: "c".repeat(6000) },
    { limits },
  );
  assert.equal(tracker.snapshot().files_scanned, 1);
  assert.equal(tracker.snapshot().truncated, true);
  await sleep(50);
  for (let scans = 0; scans < 3; scans++) assert.equal(diff(tracker).files_changed, 0);
  assert.equal(tracker.snapshot().files_scanned, 3);
  assert.equal(tracker.snapshot().truncated, undefined);
  write(root, { c: `${"c".repeat(6000)}\n` });
  const { patch } = byPath(diff(tracker))["c"]!;
  assert.match(patch, /^diff --git/);
});

test("a file that changes before its old content was read is told of without a patch", () => {
  const { root, tracker } = start({ a: "a\n", b: "b".repeat(6000) }, { limits: { scanBytes: 3000 } });
  write(root, { b: "short\n" });
  expect(byPath(diff(tracker))["b"]).toMatchObject({
    status: "modified",
    patch: "File not diffed as its content was not kept: b\n",
    content_hash_before: null,
    content_hash_after: sha256("short\n"),
  });
});

test("a file over 1 MiB is hashed and told of, without a patch; over 10 MiB it is told of without a hash", () => {
  const { root, tracker } = start({ "large.txt": "x".repeat(2 * 1024 * 1024) });
  const hash = tracker.snapshot().files[0]!.content_hash;
  write(root, { "large.txt": "y", "huge.txt": Buffer.alloc(11 * 1024 * 1024) });
  const report = byPath(diff(tracker));
  expect(report["large.txt"]).toMatchObject({
    patch: "File too large to diff (2097152 -> 1 bytes): large.txt\n",
    content_hash_before: hash,
    content_hash_after: sha256("y"),
  });
  expect(report["huge.txt"]).toMatchObject({
    status: "added",
    patch: "File too large to diff (0 -> 11534336 bytes): huge.txt\n",
    content_hash_after: null,
  });
  assert.equal(tracker.snapshot().truncated, true);
  writeFileSync(`${root}/huge.txt`, "!", { flag: "r+" });
  assert.deepEqual(statuses(diff(tracker)), { "huge.txt": "modified" });
});

test("content that is kept for diffs has a limit; what is over is told of without a patch", () => {
  const { root, tracker } = start(
    { a: "a".repeat(900), b: "b".repeat(900) },
    {
      limits: { heldBytes: 1500, diffFileBytes: 1000 },
    },
  );
  write(root, { a: "A\n", b: "B\n" });
  const patches = diff(tracker)
    .patches.map(({ patch }) => patch.slice(0, 10))
    .sort();
  assert.deepEqual(patches, ["File not d", "diff --git"]);
});

test("a report that gets lost is told again", () => {
  const { root, tracker } = start({ a: "1\n", b: "1\n" });
  write(root, { a: "2\n" });
  rmSync(`${root}/b`);
  const lost = tracker.flush();
  write(root, { a: "3\n", "c.html": "c" });
  lost.settle(false);
  const again = tracker.flush();
  again.settle(true);
  assert.deepEqual(statuses(again.report.diff), { a: "modified", b: "deleted", "c.html": "added" });
  assert.match(byPath(again.report.diff)["a"]!.patch, /^-1\n\+3$/m);
  assert.equal(diff(tracker).files_changed, 0);
  const beforeSetup = tracker.diff();
  tracker.setup().settle(true);
  beforeSetup.settle(false);
  assert.equal(diff(tracker).files_changed, 0);
});

test("captures keep to 20 files, 5 MiB each and 15 MiB together; the rest comes with the next flush", () => {
  const { root, tracker } = start();
  const MEBIBYTE = 1024 * 1024;
  write(
    root,
    Object.fromEntries(
      Array.from({ length: 25 }, (_, index) => [`small${String(index).padStart(2, "0")}.png`, `${index}`]),
    ),
  );
  write(root, { "a-huge.pdf": Buffer.alloc(6 * MEBIBYTE), "b-large.pdf": Buffer.alloc(5 * MEBIBYTE, 1) });
  write(root, {
    "c-large.pdf": Buffer.alloc(5 * MEBIBYTE, 2),
    "d-large.pdf": Buffer.alloc(5 * MEBIBYTE, 3),
    "e-large.pdf": "e".repeat(100),
  });
  const flush = (): FileCapture => {
    const { report, settle } = tracker.flush();
    settle(true);
    return report.capture;
  };
  const first = flush();
  expect(first).toMatchObject({
    files_eligible: 30,
    files_captured: 20,
    files_skipped: 10,
    truncated: true,
  });
  const second = flush();
  expect(second).toMatchObject({
    files_eligible: 9,
    files_captured: 8,
    files_skipped: 1,
    truncated: true,
  });
  assert.ok(second.files.reduce((sum, { size }) => sum + size, 0) <= 15 * MEBIBYTE);
  const third = flush();
  expect(third).toMatchObject({ files_eligible: 1, files_captured: 1, files_skipped: 0 });
  assert.equal(third.truncated, undefined);
  assert.equal(flush().files_eligible, 0);
  assert.equal(new Set([...first.files, ...second.files, ...third.files].map(({ path }) => path)).size, 29);
});

test("the number of files and the depth of folders have limits, and that is said", () => {
  const { root, tracker } = start({}, { limits: { files: 3, depth: 2 } });
  write(root, { a: "", b: "", "c/d/e": "", "c/d/f/g": "" });
  const deep = diff(tracker);
  assert.deepEqual(Object.keys(statuses(deep)).sort(), ["a", "b", "c/d/e"]);
  assert.equal(deep.truncated, true);
  write(root, { more: "" });
  expect(diff(tracker)).toMatchObject({ files_changed: 0, truncated: true });
  rmSync(`${root}/a`);
  rmSync(`${root}/c/d/f`, { recursive: true });
  diff(tracker);
  assert.equal(diff(tracker).files_scanned, 3);
});

test("a tree that is deeper than a path may be long is scanned as far as the limit of depth", () => {
  const { root, tracker } = start();
  const name = "n".repeat(200);
  const script = `
import os
n = "${name}"
for depth in range(300):
  os.mkdir(n); os.chdir(n)
  if depth == 9: open("file", "w").write("x")
  if depth == 298: open("deep", "w").write("x")
`;
  assert.equal(spawnSync("python3", ["-c", script], { cwd: root }).status, 0);
  const report = diff(tracker);
  assert.equal(report.truncated, true);
  assert.deepEqual(Object.keys(statuses(report)), [`${`${name}/`.repeat(10)}file`]);
  assert.equal(diff(tracker).files_changed, 0);
  spawnSync("rm", ["-rf", `${root}/${name}`]);
  assert.equal(diff(tracker).files_changed, 1);
});
