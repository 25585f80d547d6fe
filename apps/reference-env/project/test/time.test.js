import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTime, parseTime } from "../src/time.js";

test("times are read and written", () => {
  assert.equal(parseTime("09:30"), 570);
  assert.equal(formatTime(570), "09:30");
  assert.equal(parseTime("24:00"), 1440);
});

test("what is no time of day is refused", () => {
  assert.throws(() => parseTime("half past nine"), TypeError);
  assert.throws(() => parseTime("24:01"), RangeError);
});
