import assert from "node:assert/strict";
import { test } from "node:test";
import { Room } from "../src/room.js";

test("an empty room is free as soon as it opens", () => {
  assert.equal(new Room().firstFree(30), "08:00–08:30");
});

test("a slot that is too short is passed over", () => {
  const room = new Room().book("08:20", "09:00").book("09:10", "10:00");
  assert.equal(room.firstFree(30), "10:00–10:30");
});

test("meetings back to back take one stretch of time", () => {
  const room = new Room().book("09:00", "10:00").book("10:00", "11:30").book("13:00", "14:00");
  assert.equal(room.stretches, 2);
});

test("a full day has no free slot", () => {
  assert.equal(new Room().book("08:00", "12:00").book("12:00", "18:00").firstFree(15), undefined);
});

test("a booking must end after it begins", () => {
  assert.throws(() => new Room().book("10:00", "10:00"), RangeError);
});
