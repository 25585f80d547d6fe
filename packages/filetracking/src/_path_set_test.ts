import assert from "node:assert/strict";
import { test } from "vitest";
import { PathSet } from "./_path_set.ts";

test("PathSet excludes what would make a file a folder, in both directions", () => {
  const set = new PathSet(["d/e/f", "x"]);
  for (const path of ["d", "d/e", "d/e/f/g", "x/y", "x/y/z"]) assert.ok(set.excludes(path), path);
  for (const path of ["d/e/f", "x", "d/e/g", "d/ef", "e", "xy", "d/e/f2"])
    assert.ok(!set.excludes(path), path);
});

test("PathSet excludes nothing while it is empty", () => {
  const set = new PathSet();
  assert.ok(!set.excludes("a/b"));
  set.add("a");
  assert.ok(set.excludes("a/b"));
});
