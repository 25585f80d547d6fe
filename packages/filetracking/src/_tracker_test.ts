import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  linkSync,
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
import { byPath, diff, sha256, start, statuses } from "./_testing_tracker.ts";
import { Tracker } from "./_tracker.ts";
import type { FileDiff } from "./file_diff.ts";
import { toPatch } from "./to_patch.ts";

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
    dir: { target: outside },
    file: { target: `${outside}/host.txt` },
    dangling: { target: "nowhere" },
  });
  const report = diff(tracker);
  assert.deepEqual(statuses(report), { dir: "added", file: "modified", dangling: "added" });
  assert.deepEqual(byPath(report)["file"]!.mode, { before: "100644", after: "120000" });
  assert.deepEqual(byPath(report)["dir"]!.mode, { before: null, after: "120000" });
  assert.ok(!JSON.stringify(report).includes("HOST"));
  write(root, { dir: { target: "elsewhere" } });
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
  write(root, { ".env": "TOKEN=hunter3\n", "new.pem": "hunter4", link_key: { target: "hunter5" } });
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

test("a secret stays one when it is moved, or linked to by a name that does not tell", async () => {
  const { root, tracker } = start({ ".env": "TOKEN=hunter2\n", "old/.ssh/config": "hunter2" });
  await sleep(50);
  linkSync(`${root}/.env`, `${root}/notes.txt`);
  renameSync(`${root}/old/.ssh`, `${root}/docs`);
  const report = diff(tracker);
  assert.deepEqual(statuses(report), {
    ".env": "modified", // a further link is a change of the file, as far as its times tell
    "notes.txt": "added",
    "old/.ssh/config": "deleted",
    "docs/config": "added",
  });
  rmSync(`${root}/.env`);
  renameSync(`${root}/notes.txt`, `${root}/page.html`);
  write(root, { "new.txt": "told of\n" });
  const { diff: next, capture } = tracker.flush().report;
  assert.deepEqual(capture.files, []);
  assert.match(byPath(next)["new.txt"]!.patch, /told of/);
  assert.ok(!JSON.stringify([report, next, capture]).includes("hunter"));
  assert.equal(tracker.bytesRead, 8);
});

test("a file that cannot be opened without waiting stays pending", async () => {
  const { root, tracker } = start();
  write(root, { "leased.txt": "content\n" });
  const script = `
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(os.open(sys.argv[1], os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("leased", flush=True)
signal.pause()
`;
  const holder = spawn("python3", ["-c", script, `${root}/leased.txt`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void holder.kill("SIGKILL"));
  await once(holder.stdout, "data");
  expect(diff(tracker)).toMatchObject({ files_changed: 1, patches: [], truncated: true });
  holder.kill("SIGKILL");
  await once(holder, "exit");
  assert.deepEqual(statuses(diff(tracker)), { "leased.txt": "added" });
});

test("content that looks like a credential is hashed and not shown, before and after", () => {
  const key = `-----BEGIN RSA PRIVATE KEY-----\nabc\n`;
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

test("flush() captures documents and pictures that have changed since the baseline", () => {
  const { root, tracker } = start({ "old.png": "old", "same.pdf": "same" });
  write(root, { "setup.docx": "s" });
  tracker.setup().settle(true);
  write(root, { "old.png": "new", "sub/R.HTML": "<p>", "code.ts": "x", "link.jpg": { target: "old.png" } });
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

test("flush() captures eleven kinds of documents and pictures, and no others", () => {
  const { root, tracker } = start();
  const kinds = ["docx", "htm", "html", "jpeg", "jpg", "pdf", "png", "pptx", "webp", "xlsm", "xlsx"];
  const others = ["txt", "svg", "gif", "doc", "xls", "zip", "htmlx", "xhtml", "py"];
  write(root, Object.fromEntries([...kinds, ...others].map((kind) => [`file.${kind}`, kind])));
  write(root, { png: "no ending", "png.d/x": "in a folder" });
  const { capture } = tracker.flush().report;
  assert.deepEqual(
    capture.files.map(({ path }) => path),
    kinds.map((kind) => `file.${kind}`),
  );
  assert.deepEqual([...new Set(capture.files.map(({ content_type }) => content_type.split("/")[0]))].sort(), [
    "application",
    "image",
    "text",
  ]);
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
  write(root, { file: "", "real/x": "", link: { target: "real" } });
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
