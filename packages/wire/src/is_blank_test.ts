import assert from "node:assert/strict";
import { test } from "vitest";
import { isBlank } from "./is_blank.ts";

test.each(["", "\r", " ", " \t\r", " ".repeat(10_000)])(
  "FRAME-6: a line of white space only is empty: %j",
  (line) => {
    assert.equal(isBlank(Buffer.from(line)), true);
  },
);

test.each(["{}", " x", "\u0000", "\u000b", "\u00a0", `${" ".repeat(10_000)}x`])(
  "FRAME-6: %j is no empty line",
  (line) => {
    assert.equal(isBlank(Buffer.from(line)), false);
  },
);
