import { expect, test } from "vitest";
import { colourPatch } from "./colour_patch.ts";

test("a patch has git's colours, and its text is untouched", () => {
  const patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+deux\n\n";
  const coloured = colourPatch(patch);
  expect(coloured.replaceAll(/\u001b\[\d+m/g, "")).toBe(patch);
  expect(coloured).toContain("\u001b[31m-two\u001b[0m\n\u001b[32m+deux\u001b[0m\n\n");
  expect(coloured).toContain("\u001b[1m--- a/x\u001b[0m");
  expect(coloured).toContain("\n one\n");
});
