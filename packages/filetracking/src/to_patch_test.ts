import assert from "node:assert/strict";
import { test } from "vitest";
import { git, read, temporaryFolder, write } from "./_testing.ts";
import type { FileDiff, FilePatch } from "./file_diff.ts";
import { toPatch } from "./to_patch.ts";

function diffOf(...patches: Partial<FilePatch>[]): FileDiff {
  return {
    snapshot_timestamp: 0,
    scan_duration_ms: 0,
    files_scanned: 0,
    files_changed: patches.length,
    patches: patches.map((patch) => ({
      path: "f",
      status: "modified",
      patch: "",
      size_before: 1,
      size_after: 1,
      content_hash_before: null,
      content_hash_after: null,
      ...patch,
    })),
  };
}

test("toPatch() is empty when nothing has changed", () => {
  assert.equal(toPatch(), "");
  assert.equal(toPatch(diffOf()), "");
  assert.equal(toPatch(diffOf({ patch: "" })), "");
});

test("toPatch() names what it cannot hold at its head, where git skips it", () => {
  const root = temporaryFolder();
  const git1 = "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n";
  const patch = toPatch(
    diffOf(
      { status: "added", patch: git1 },
      { path: ".env", patch: "Secret file changed (content redacted): .env\n" },
      { path: "x", patch: "File too large to diff\ndiff --git a/evil b/evil\n" },
    ),
  );
  assert.equal(
    patch,
    `# Secret file changed (content redacted): .env\n# File too large to diff diff --git a/evil b/evil\n${git1}`,
  );
  assert.equal(git(root, ["apply", "-"], patch).status, 0);
  assert.deepEqual(read(root), { f: "- x\n" });
});

test("toPatch() gives patches of other servers a head that git understands", () => {
  const root = temporaryFolder();
  write(root, { "gone.txt": "1\n2\n", "changed.txt": "a\nb\n", "no more": "" });
  const patch = toPatch(
    diffOf(
      {
        path: "gone.txt",
        status: "deleted",
        patch: "--- a/gone.txt\n+++ b/gone.txt\n@@ -1,2 +0,0 @@\n-1\n-2",
      },
      { path: "changed.txt", patch: "--- a/changed.txt\n+++ b/changed.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c" },
    ),
    diffOf(
      { path: "new name", status: "added", patch: "--- a/new name\n+++ b/new name\n@@ -0,0 +1 @@\n+x" },
      { path: "empty", status: "added", patch: "", size_before: 0, size_after: 0 },
      { path: "no more", status: "deleted", patch: "", size_before: 0, size_after: 0 },
      { path: "bin", status: "added", patch: "Binary file changed: bin\n" },
    ),
  );
  const { status, err } = git(root, ["apply", "-"], patch);
  assert.equal(status, 0, err);
  assert.deepEqual(read(root), { "changed.txt": "- a\nc\n", "new name": "- x\n", empty: "- " });
  assert.match(patch, /^# Binary file changed: bin\n/);
});
