import fc from "fast-check";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { git, inFolder, read, temporaryFolder, write } from "./_testing.ts";
import type { TestEntry } from "./_testing.ts";
import { Tracker } from "./_tracker.ts";
import type { TrackerOptions } from "./_tracker.ts";
import type { FileDiff, FilePatch } from "./file_diff.ts";
import { toPatch } from "./to_patch.ts";

function start(
  files: Record<string, TestEntry> = {},
  options: TrackerOptions = {},
): { root: string; tracker: Tracker } {
  const root = temporaryFolder();
  write(root, files);
  const tracker = new Tracker(root, options);
  tracker.start();
  return { root, tracker };
}

function diff(tracker: Tracker): FileDiff {
  const { report, settle } = tracker.diff();
  settle(true);
  return report;
}

/** Diffs until nothing is left. */
function rest(tracker: Tracker): FileDiff[] {
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

function byPath({ patches }: FileDiff): Record<string, FilePatch> {
  return Object.fromEntries(patches.map((patch) => [patch.path, patch]));
}

function statuses({ patches }: FileDiff): Record<string, string> {
  return Object.fromEntries(patches.map(({ path, status }) => [path, status]));
}

const sha256 = (content: string): string =>
  spawnSync("sha256sum", { input: content, encoding: "utf8" }).stdout.slice(0, 64);

test("diff() tells of added, modified and deleted files, with sizes and hashes", () => {
  const { root, tracker } = start({ "a.txt": "one\n", "d/b.txt": "two\n" });
  write(root, { "a.txt": "one!\n", "d/c.txt": "three" });
  rmSync(`${root}/d/b.txt`);
  const report = diff(tracker);
  assert.deepEqual(statuses(report), { "a.txt": "modified", "d/b.txt": "deleted", "d/c.txt": "added" });
  expect(report).toMatchObject({ files_scanned: 2, files_changed: 3 });
  assert.ok(Math.abs(report.snapshot_timestamp - Date.now() / 1000) < 60);
  assert.deepEqual(Object.keys(report), [
    ...["snapshot_timestamp", "scan_duration_ms", "files_scanned", "files_changed", "patches"],
  ]);
  assert.deepEqual(byPath(report)["a.txt"], {
    path: "a.txt",
    status: "modified",
    patch: "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+one!\n",
    size_before: 4,
    size_after: 5,
    content_hash_before: sha256("one\n"),
    content_hash_after: sha256("one!\n"),
  });
  expect(byPath(report)["d/c.txt"]).toMatchObject({ size_before: 0, content_hash_before: null });
  expect(byPath(report)["d/b.txt"]).toMatchObject({ size_after: 0, content_hash_after: null });
  assert.equal(diff(tracker).files_changed, 0);
});

test("diff() tells of a rename as of a deletion and an addition", () => {
  const { root, tracker } = start({ "old/name.txt": "same\n" });
  renameSync(`${root}/old`, `${root}/new`);
  assert.deepEqual(statuses(diff(tracker)), { "old/name.txt": "deleted", "new/name.txt": "added" });
});

test("diff() sees an edit of the same size whose time was set back", async () => {
  const { root, tracker } = start({ "a.txt": "one\n" });
  const { atime, mtime } = statSync(`${root}/a.txt`);
  await sleep(50);
  diff(tracker);
  writeFileSync(`${root}/a.txt`, "two\n");
  utimesSync(`${root}/a.txt`, atime, mtime);
  assert.deepEqual(statuses(diff(tracker)), { "a.txt": "modified" });
});

test("diff() sees every edit of a file that is written again at once", () => {
  const { root, tracker } = start({ "a.txt": "0000\n" });
  for (let count = 1; count < 200; count++) {
    writeFileSync(`${root}/a.txt`, `${String(count).padStart(4, "0")}\n`);
    assert.equal(diff(tracker).files_changed, 1, `edit ${String(count)}`);
  }
});

test("a file that was only touched or rewritten as it was is not told of", async () => {
  const { root, tracker } = start({ "a.txt": "one\n" });
  await sleep(50);
  writeFileSync(`${root}/a.txt`, "one\n");
  assert.equal(diff(tracker).files_changed, 0);
});

test("unchanged files are not read again", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 500 }, (_, index) => [`d${index % 20}/f${index}`, `${index}`]),
  );
  const { root, tracker } = start(files);
  await sleep(50);
  diff(tracker);
  const before = tracker.bytesRead;
  for (let scans = 0; scans < 3; scans++) diff(tracker);
  assert.equal(tracker.bytesRead, before);
  write(root, { "d3/new": "12345" });
  diff(tracker);
  assert.equal(tracker.bytesRead, before + 5);
});

test("symbolic links are told of as such, and never followed", () => {
  const { root, tracker } = start({ "real/secret.txt": "s3cret", file: "x\n" });
  const outside = temporaryFolder();
  write(outside, { "host.txt": "HOST" });
  write(root, {
    dir: { link: outside },
    file: { link: `${outside}/host.txt` },
    dangling: { link: "nowhere" },
  });
  const report = diff(tracker);
  assert.deepEqual(statuses(report), { dir: "added", file: "modified", dangling: "added" });
  assert.deepEqual(byPath(report)["file"]!.mode, { before: "100644", after: "120000" });
  assert.deepEqual(byPath(report)["dir"]!.mode, { before: null, after: "120000" });
  assert.ok(!JSON.stringify(report).includes("HOST"));
  write(root, { dir: { link: "elsewhere" } });
  expect(byPath(diff(tracker))["dir"]!.patch).toContain("+elsewhere\n\\ No newline");
});

test("changes of permissions are told of", () => {
  const { root, tracker } = start({ "run.sh": "echo\n", "private.txt": "p\n" });
  chmodSync(`${root}/run.sh`, 0o755);
  chmodSync(`${root}/private.txt`, 0o600);
  const report = byPath(diff(tracker));
  assert.deepEqual(report["run.sh"]!.mode, { before: "100644", after: "100755" });
  assert.equal(report["run.sh"]!.patch, "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n");
  assert.deepEqual(report["private.txt"]!.mode, { before: "100644", after: "100600" });
  assert.equal(report["private.txt"]!.patch, "");
});

test("pipes, sockets and devices neither stop a scan nor show", { timeout: 10_000 }, async () => {
  const { root, tracker } = start({ "was.txt": "x\n" });
  assert.equal(spawnSync("mkfifo", [`${root}/pipe`, `${root}/pipe.html`]).status, 0);
  const socket = createServer().listen(`${root}/socket`);
  onTestFinished(() => void socket.close());
  if (process.getuid?.() === 0) assert.equal(spawnSync("mknod", [`${root}/zero`, "c", "1", "5"]).status, 0);
  assert.equal(diff(tracker).files_changed, 0);
  rmSync(`${root}/was.txt`);
  assert.equal(spawnSync("mkfifo", [`${root}/was.txt`]).status, 0);
  assert.deepEqual(statuses(diff(tracker)), { "was.txt": "deleted" });
  assert.equal(tracker.flush().report.capture.files_changed, 0);
  rmSync(`${root}/pipe`);
  write(root, { pipe: "now a file\n" });
  assert.deepEqual(statuses(diff(tracker)), { pipe: "added" });
});

test("a file in the place of a folder, and a folder in the place of a file", () => {
  const { root, tracker } = start({ "a/x": "1\n", b: "2\n" });
  rmSync(`${root}/b`);
  write(root, { a: "file\n", "b/y": "in a folder\n" });
  assert.deepEqual(statuses(diff(tracker)), { "a/x": "deleted", a: "added", b: "deleted", "b/y": "added" });
});

test("names that are no UTF-8 are told apart and come back as they are", () => {
  const { root, tracker } = start();
  const names = ["\xff.txt", "\xfe.txt", "\xef\xbf\xbd.txt", "caf\xc3\xa9.txt", "a\nb.txt"];
  write(root, Object.fromEntries(names.map((name) => [name, `${name.length}\n`])));
  const report = diff(tracker);
  assert.deepEqual(
    report.patches.map(({ path }) => path).sort(),
    ["a\nb.txt", "café.txt", "\udcfe.txt", "\udcff.txt", "\ufffd.txt"].sort(),
  );
  const copy = temporaryFolder();
  assert.equal(git(copy, ["apply", "-"], toPatch(JSON.parse(JSON.stringify(report)) as FileDiff)).status, 0);
  assert.deepEqual(read(copy), read(root));
  rmSync(inFolder(root, "\xff.txt"));
  assert.deepEqual(statuses(diff(tracker)), { "\udcff.txt": "deleted" });
});

test("secrets are seen to change, but never read", () => {
  const { root, tracker } = start({
    ".env": "TOKEN=hunter2\n",
    "conf/.ssh/id_x": "hunter2",
    "api_key.txt": "hunter2",
  });
  assert.equal(tracker.bytesRead, 0);
  write(root, { ".env": "TOKEN=hunter3\n", "new.pem": "hunter4", link_key: { link: "hunter5" } });
  rmSync(`${root}/conf/.ssh/id_x`);
  const report = diff(tracker);
  assert.deepEqual(statuses(report), {
    ".env": "modified",
    "new.pem": "added",
    link_key: "added",
    "conf/.ssh/id_x": "deleted",
  });
  for (const patch of report.patches) {
    expect(patch).toMatchObject({ content_hash_before: null, content_hash_after: null });
    assert.equal(patch.patch, `Secret file changed (content redacted): ${patch.path}\n`);
  }
  assert.equal(tracker.bytesRead, 0);
  assert.deepEqual(tracker.snapshot().files, []);
  assert.equal(tracker.snapshot().truncated, undefined);
  assert.ok(!JSON.stringify([report, tracker.flush().report]).includes("hunter"));
});

test("content that looks like a credential is hashed and not shown, before and after", () => {
  const key = `${"-----BEGIN "}RSA PRIVATE KEY-----\nabc\n`;
  const { root, tracker } = start({ "notes.txt": `x\n${key}` });
  write(root, { "notes.txt": "x\n", "page.html": `<pre>${key}</pre>` });
  const { diff: report, capture } = tracker.flush().report;
  for (const { path, patch } of report.patches) {
    assert.equal(patch, `File with a secret changed (content redacted): ${path}\n`);
  }
  assert.match(byPath(report)["notes.txt"]!.content_hash_before!, /^[0-9a-f]{64}$/);
  expect(capture).toMatchObject({ files_eligible: 1, files_captured: 0, files_skipped: 1, files: [] });
  assert.ok(!JSON.stringify([report, capture]).includes("PRIVATE"));
});

test("ignore rules are those at the baseline: who edits .gitignore hides nothing", () => {
  const { root, tracker } = start({
    ".gitignore": "*.log\n",
    "d/.gitignore": "!keep.log\n",
    "d/keep.log": "k\n",
  });
  write(root, { "a.log": "x\n", "d/keep.log": "kept\n", "d/other.log": "x\n" });
  write(root, {
    ".gitignore": "*\n",
    "evil.txt": "hidden?\n",
    "new/.gitignore": "*\n",
    "new/evil.txt": "hidden?\n",
  });
  assert.deepEqual(statuses(diff(tracker)), {
    ".gitignore": "modified",
    "d/keep.log": "modified",
    "evil.txt": "added",
    "new/.gitignore": "added",
    "new/evil.txt": "added",
  });
  rmSync(`${root}/.gitignore`);
  write(root, { "b.log": "still ignored\n" });
  assert.deepEqual(statuses(diff(tracker)), { ".gitignore": "deleted" });
});

test("setup() and advance() take over the ignore rules of the tree as it is", () => {
  const { root, tracker } = start({ "x.log": "1\n", "keep/y.tmp": "1\n", ".gitignore": "*.tmp\n" });
  write(root, { ".gitignore": "*.log\n", "new.log": "2\n" });
  assert.deepEqual(statuses(tracker.setup().report), { ".gitignore": "modified", "new.log": "added" });
  assert.equal(diff(tracker).files_changed, 0, "what comes into sight is part of the baseline");
  write(root, { "x.log": "ignored now\n", "keep/y.tmp": "seen now\n" });
  assert.deepEqual(statuses(diff(tracker)), { "keep/y.tmp": "modified" });
  write(root, { ".gitignore": "" });
  tracker.advance();
  write(root, { "x.log": "seen again\n" });
  assert.deepEqual(statuses(diff(tracker)), { "x.log": "modified" });
});

test("without gitignore, only what is built in is left out", () => {
  const { root, tracker } = start({ ".gitignore": "*\n" }, { gitignore: false });
  write(root, { "a.log": "x\n", "node_modules/x/index.js": "x", ".git/HEAD": "ref" });
  tracker.advance();
  write(root, { "a.log": "y\n" });
  assert.deepEqual(statuses(diff(tracker)), { "a.log": "modified" });
});

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

test("flush() captures documents and pictures that have changed since the baseline", () => {
  const { root, tracker } = start({ "old.png": "old", "same.pdf": "same" });
  write(root, { "setup.docx": "s" });
  tracker.setup().settle(true);
  write(root, { "old.png": "new", "sub/R.HTML": "<p>", "code.ts": "x", "link.jpg": { link: "old.png" } });
  diff(tracker);
  const { report, settle } = tracker.flush();
  settle(true);
  assert.deepEqual(Object.keys(report.capture), [
    ...["snapshot_timestamp", "scan_duration_ms", "files_scanned", "files_changed"],
    ...["files_eligible", "files_captured", "files_skipped", "files"],
  ]);
  expect(report.capture).toMatchObject({
    files_changed: 4,
    files_eligible: 2,
    files_captured: 2,
    files_skipped: 0,
  });
  assert.deepEqual(report.capture.files, [
    {
      path: "old.png",
      status: "modified",
      size: 3,
      content_hash: sha256("new"),
      content_type: "image/png",
      file: { type: "file", data: Buffer.from("new").toString("base64"), media_type: "image/png" },
    },
    {
      path: "sub/R.HTML",
      status: "added",
      size: 3,
      content_hash: sha256("<p>"),
      content_type: "text/html",
      file: { type: "file", data: Buffer.from("<p>").toString("base64"), media_type: "text/html" },
    },
  ]);
  assert.equal(report.diff.files_changed, 0);
  write(root, { "old.png": "newer" });
  assert.deepEqual(
    tracker.flush().report.capture.files.map(({ path }) => path),
    ["old.png"],
  );
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
  const flush = () => {
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
  const script = `for i in $(seq 300); do mkdir ${name}; cd ${name}; done; echo deep > ../deep; cd ${root}; f=.; for i in $(seq 10); do f=$f/${name}; done; echo x > $f/file`;
  assert.equal(spawnSync("bash", ["-c", script], { cwd: root }).status, 0);
  const report = diff(tracker);
  assert.equal(report.truncated, true);
  assert.deepEqual(Object.keys(statuses(report)), [`${`${name}/`.repeat(10)}file`]);
  assert.equal(diff(tracker).files_changed, 0);
  spawnSync("rm", ["-rf", `${root}/${name}`]);
  assert.equal(diff(tracker).files_changed, 1);
});

test("a directory that is gone has no files", () => {
  const { root, tracker } = start({ a: "1\n" });
  rmSync(root, { recursive: true });
  assert.deepEqual(statuses(diff(tracker)), { a: "deleted" });
  mkdirSync(root);
  write(root, { a: "1\n" });
  assert.deepEqual(statuses(diff(tracker)), { a: "added" });
});

test("start() refuses what is no directory, a link to one included", () => {
  const root = temporaryFolder();
  write(root, { file: "", "real/x": "", link: { link: "real" } });
  for (const name of ["missing", "file", "link"])
    assert.throws(() => new Tracker(`${root}/${name}`).start(), name);
});

test("what cannot be entered keeps its last known state, and that is said", () => {
  const script = `
    import { Tracker } from ${JSON.stringify(new URL("./_tracker.ts", import.meta.url).href)};
    import { chmodSync, writeFileSync } from "node:fs";
    process.setegid(65534); process.seteuid(65534);
    const tracker = new Tracker(process.argv[2]);
    tracker.start();
    chmodSync(process.argv[2] + "/d", 0); chmodSync(process.argv[2] + "/f", 0); writeFileSync(process.argv[2] + "/g", "g", { mode: 0 });
    console.log(JSON.stringify([tracker.diff().report, tracker.diff().report]));
    chmodSync(process.argv[2] + "/d", 0o700); chmodSync(process.argv[2] + "/f", 0o644);
    console.log(JSON.stringify(tracker.diff().report));
  `;
  if (process.getuid?.() !== 0) throw new Error("This test must run as root: it gives rights up");
  const root = temporaryFolder();
  write(root, { "d/x": "1\n", f: "1\n" });
  spawnSync("chown", ["-R", "65534:65534", root]);
  const program = temporaryFolder();
  writeFileSync(`${program}/program.mts`, script);
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--conditions=@envport/source", `${program}/program.mts`, root],
    { encoding: "utf8", cwd: import.meta.dirname },
  );
  const [first, last] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.ok(first, stderr);
  assert.deepEqual(statuses(first[0]), { f: "modified", g: "added" });
  assert.equal(first[0].truncated, true);
  assert.equal(byPath(first[0])["g"]!.patch, "File not readable: g\n");
  expect(first[1]).toMatchObject({ files_changed: 0, truncated: true });
  assert.deepEqual(statuses(last), { f: "modified" });
  assert.equal(last.truncated, undefined);
});

/** A step of an agent at work. */
const step = fc.record({
  name: fc.constantFrom("a", "b.txt", "d/a", "d/e/f", "d", "x y", "caf\xc3\xa9", "\xff"),
  entry: fc.oneof(
    fc.constant(undefined),
    fc
      .constantFrom("", "1\n", "1\n2\n3\n", "no newline", "\0binary", "\xff\xfe")
      .map((text) => Buffer.from(text, "latin1")),
    fc.constantFrom("a", "../outside").map((link) => ({ link })),
    fc.constantFrom(0o644, 0o755).map((mode) => ({ content: "mode\n", mode })),
  ),
  report: fc.boolean(),
});

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

test(
  "the diffs of a session, one after the other, turn a copy of the start into the end",
  { timeout: 120_000 },
  () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.boolean(), (steps, narrow) => {
        const start = { a: "start\n", "d/e/f": "1\n2\n", gone: "x" };
        const [root, copy] = [temporaryFolder(), temporaryFolder()];
        write(root, start);
        write(copy, start);
        const tracker = new Tracker(
          root,
          narrow ? { limits: { diffBytes: 300, scanBytes: 20, fileBytes: 20 } } : {},
        );
        tracker.start();
        const rounds: FileDiff[][] = [];
        for (const { name, entry, report } of steps) {
          perform(root, name, entry);
          if (report) rounds.push(rest(tracker));
        }
        rounds.push(rest(tracker));
        for (const round of rounds) {
          const patch = toPatch(...round);
          if (/^diff/m.test(patch))
            assert.equal(git(copy, ["apply", "--whitespace=nowarn", "-"], patch).err, "", patch);
        }
        if (!rounds.flat().some(({ patches }) => patches.some(({ patch }) => !/^diff|^$/.test(patch)))) {
          assert.deepEqual(read(copy), read(root));
        }
      }),
      { numRuns: 60 },
    );
  },
);
