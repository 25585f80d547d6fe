import { fileLines, modeLines, patchHead } from "./_git_patch.ts";
import { fromText } from "./_names.ts";
import type { FileDiff, FilePatch } from "./file_diff.ts";

/**
 * Joins diffs to one patch that `git apply` takes. Files whose content is not in the diffs are named in comments at its
 * head, which git skips.
 *
 * Diffs of other servers, whose patches have no git header, are given one.
 *
 * @param diffs In the order in which they were made.
 * @returns Empty if nothing has changed.
 *
 * @example
 * ```ts
 * import { FileTracker, toPatch } from "@envport/filetracking";
 * import assert from "node:assert/strict";
 * import { mkdtemp, writeFile } from "node:fs/promises";
 *
 * const root = await mkdtemp("/tmp/tracked-");
 * await using tracker = new FileTracker(root);
 * await tracker.start();
 * await writeFile(`${root}/a.txt`, "a\n");
 * const patch = toPatch(await tracker.diff());
 * assert.match(patch, /^diff --git a\/a.txt b\/a.txt\nnew file mode 100644\n/);
 * ```
 */
export function toPatch(...diffs: readonly FileDiff[]): string {
  const comments: string[] = [];
  const patches: string[] = [];
  for (const entry of diffs.flatMap((diff) => diff.patches)) {
    const patch = applicable(entry);
    if (patch !== undefined) patches.push(patch);
    else comments.push(`# ${entry.patch.trim().replaceAll("\n", " ")}\n`);
  }
  return [...comments, ...patches].join("");
}

/** The patch of one file as git takes it; undefined if it is a sentence. */
function applicable({ path, status, patch, size_before, size_after }: FilePatch): string | undefined {
  if (patch.startsWith("diff --git ")) return patch;
  const name = fromText(path);
  const head =
    patchHead(name) +
    modeLines(status === "added" ? undefined : "100644", status === "deleted" ? undefined : "100644");
  const isEmpty = size_before === 0 && size_after === 0;
  if (patch === "") return status === "modified" ? "" : isEmpty ? head : undefined;
  const hunks = patch.indexOf("\n@@ -");
  if (!patch.startsWith("--- ") || hunks < 0) return undefined;
  const body = patch.slice(hunks + 1);
  return (
    head +
    fileLines(name, status !== "added", status !== "deleted") +
    body +
    (body.endsWith("\n") ? "" : "\n")
  );
}
