import fc from "fast-check";
import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { gitPatch } from "./_git_patch.ts";
import type { PatchSide } from "./_git_patch.ts";
import { git, read, temporaryFolder, write } from "./_testing.ts";
import type { TestEntry } from "./_testing.ts";
import { unifiedHunks } from "./_unified_hunks.ts";

const line = fc.constantFrom(
  "a",
  "b",
  "c",
  "",
  "x\r",
  "é",
  "-- a",
  "+++ b/x",
  "@@ -1 +1 @@",
  "\\ No newline",
  "diff --git a/a b/a",
);
const text = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
  .map(([lines, newline]) => Buffer.from(lines.join("\n") + (newline && lines.length > 0 ? "\n" : "")));
const binary = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const link = fc.constantFrom("x", "../y", "/etc/passwd", "\xff\xfe", "two\nlines").map((target) => ({
  mode: "120000",
  content: Buffer.from(target, "latin1"),
}));
const file = fc.record({
  mode: fc.constantFrom("100644", "100755"),
  content: fc.oneof({ weight: 3, arbitrary: text }, { weight: 1, arbitrary: binary }),
});
const side = fc.option(fc.oneof({ weight: 6, arbitrary: file }, { weight: 1, arbitrary: link }), {
  nil: undefined,
});
const name = fc
  .oneof(
    fc.constantFrom(
      "plain",
      "with space",
      " lead",
      "trail ",
      'quo"te',
      "back\\slash",
      "tab\there",
      "line\nbreak",
      "x b/x",
      "-dash",
    ),
    fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
  )
  .map((bytes) => bytes.replaceAll(/[\0/]/g, "_"))
  .filter((bytes) => ![".", "..", ".git"].includes(bytes.toLowerCase()));

function entry({ mode, content }: PatchSide): TestEntry {
  return mode === "120000"
    ? { target: content.toString("latin1") }
    : { content, mode: parseInt(mode.slice(3), 8) };
}

function applies(
  files: readonly { path: string; before: PatchSide | undefined; after: PatchSide | undefined }[],
): void {
  const [from, to] = [temporaryFolder(), temporaryFolder()];
  for (const { path, before, after } of files) {
    if (before) write(from, { [path]: entry(before) });
    if (after) write(to, { [path]: entry(after) });
  }
  const patch = files.map(({ path, before, after }) => gitPatch(path, before, after, 1000)).join("");
  if (patch !== "") {
    const { status, err } = git(from, ["apply", "--whitespace=nowarn", "-"], patch);
    assert.equal(status, 0, `${err}\n${patch}`);
  }
  assert.deepEqual(read(from), read(to));
}

test("gitPatch() turns the old files into the new ones, by git apply", { timeout: 120_000 }, () => {
  const files = fc.uniqueArray(fc.record({ path: name, before: side, after: side }), {
    minLength: 1,
    maxLength: 12,
    selector: ({ path }) => path,
  });
  fc.assert(
    fc.property(files, (entries) => applies(entries.filter(({ before, after }) => before ?? after))),
    { numRuns: 100 },
  );
});

test("gitPatch() names files in folders whose names look like the other name of the line", () => {
  const content = Buffer.from("x");
  const files = ["x b/x", "a b/a b/a", "b/b", "a/a", " /x"].map((path) => ({
    path,
    before: undefined,
    after: { mode: "100755", content },
  }));
  applies(files);
  applies(files.map(({ path, after }) => ({ path, before: after, after: undefined })));
  applies(files.map(({ path, after }) => ({ path, before: after, after: { ...after, mode: "100644" } })));
});

test("gitPatch() is undone by git apply -R", () => {
  const root = temporaryFolder();
  const [before, after] = ["one\ntwo", "\0\x01"].map((content) => ({
    mode: "100644",
    content: Buffer.from(content),
  }));
  write(root, { f: after!.content });
  assert.equal(git(root, ["apply", "-R", "-"], gitPatch("f", before, after, 100)).status, 0);
  assert.deepEqual(read(root), { f: "- one\ntwo" });
});

test("gitPatch() has three lines of context, and a/ and b/ before the names", () => {
  const lines = Array.from({ length: 20 }, (_, index) => `${index}\n`);
  const before = Buffer.from(lines.join(""));
  lines[10] = "ten\n";
  const patch = gitPatch(
    "dir/f",
    { mode: "100644", content: before },
    { mode: "100644", content: Buffer.from(lines.join("")) },
    1000,
  );
  expect(patch).toBe(
    "diff --git a/dir/f b/dir/f\n--- a/dir/f\n+++ b/dir/f\n@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n",
  );
});

test("gitPatch() is what git diff says, for a change in the middle", () => {
  const root = temporaryFolder();
  git(root, ["init", "-q"]);
  const before = Array.from({ length: 40 }, (_, index) => `line ${index}\n`);
  write(root, { f: before.join("") });
  git(root, ["add", "f"]);
  const after = [...before.slice(0, 5), "new\n", ...before.slice(7, 30), "other", ...before.slice(31)].join(
    "",
  );
  write(root, { f: after });
  const theirs = git(root, ["diff", "--no-color"]).out.replaceAll(/^index .*\n| @@ .*$/gm, (found) =>
    found.startsWith("index") ? "" : " @@",
  );
  const side = (content: string): PatchSide => ({ mode: "100644", content: Buffer.from(content) });
  assert.equal(gitPatch("f", side(before.join("")), side(after), 1000), theirs);
});

test("unifiedHunks() gives up on a small diff, and still says the truth", () => {
  const root = temporaryFolder();
  const shuffled = (seed: number): string =>
    Array.from({ length: 20_000 }, (_, index) => `${(index * seed) % 9973}\n`).join("");
  const [before, after] = [`same\n${shuffled(7)}end\n`, `same\n${shuffled(4391)}end`];
  const hunks = unifiedHunks(before, after, 50);
  assert.equal(hunks.match(/^@@ /gm)!.length, 1, "it must have given up");
  write(root, { f: before });
  assert.equal(git(root, ["apply", "-"], `--- a/f\n+++ b/f\n${hunks}`).status, 0);
  assert.deepEqual(read(root), { f: `- ${after}` });
});

test("unifiedHunks() replaces what differs when there is no time to look", () => {
  fc.assert(
    fc.property(text, text, fc.constantFrom(-1, 1000), (old, now, timeout) => {
      const root = temporaryFolder();
      const [before, after] = [`head\n${old.toString()}`, `head\n${now.toString()}`];
      const hunks = unifiedHunks(before, after, timeout);
      assert.equal(hunks === "", before === after);
      if (hunks === "") return;
      write(root, { f: before });
      assert.equal(
        git(root, ["apply", "--whitespace=nowarn", "-"], `--- a/f\n+++ b/f\n${hunks}`).status,
        0,
        hunks,
      );
      assert.deepEqual(read(root), { f: `- ${Buffer.from(after).toString("latin1")}` });
    }),
    { numRuns: 60 },
  );
});
