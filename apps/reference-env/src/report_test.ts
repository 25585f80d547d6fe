import { expect, test } from "vitest";
import { renderReport, withoutPictures } from "./report.ts";
import type { EpisodeResult } from "./run_episode.ts";

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M8AAAQAAf8ceA9TAAAAAElFTkSuQmCC",
  "base64",
);
const RESULT: EpisodeResult = {
  task: "repair",
  capabilities: ["ssh"],
  prompt: "Repair <it> & leave the tests alone.",
  answer: { file: "a.js" },
  score: 1,
  ok: true,
  ms: 1_234,
  patch: "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two <b>\n",
  journal: [
    { kind: "step", at: 10, ms: 20, what: "$ npm test", outcome: "<script>alert(1)</script>", failed: false },
    { kind: "picture", at: 40, caption: 'a "screen"', mediaType: "image/png", data: PIXEL },
  ],
};
const INFO = { environment: "reference 0.1.0", date: new Date("2026-01-02T03:04:05Z") };

test("a report says what was asked, done, seen and changed, and how it went", () => {
  const page = renderReport(
    [RESULT, { ...RESULT, task: "tools", ok: false, score: 0, error: "no idea" }],
    INFO,
  );
  expect(page).toContain("<h1>1 of 2 tasks solved</h1>");
  expect(page).toContain("2026-01-02 03:04 UTC");
  expect(page).toContain("Repair &lt;it&gt; &amp; leave the tests alone.");
  expect(page).toContain("$ npm test");
  expect(page).toContain('<span class="minus">-one</span>\n<span class="plus">+two &lt;b&gt;</span>');
  expect(page).toContain('src="data:image/png;base64,iVBOR');
  expect(page).toContain('alt="a &quot;screen&quot;"');
  expect(page).toContain("no idea");
  expect(page).not.toMatch(/<script|https?:\/\//);
});

test("a line of JSON has no bytes of pictures", () => {
  expect(withoutPictures(RESULT.journal)[1]).toEqual({
    kind: "picture",
    at: 40,
    caption: 'a "screen"',
    mediaType: "image/png",
    bytes: PIXEL.length,
  });
});
