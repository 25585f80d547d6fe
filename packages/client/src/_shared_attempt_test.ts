import assert from "node:assert/strict";
import { test } from "vitest";
import { SharedAttempt } from "./_shared_attempt.ts";
import { rejection } from "./_testing.ts";

/** Work that ends with its signal. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

test("wait() gives everybody the same result of one piece of work", async () => {
  let runs = 0;
  const attempt = new SharedAttempt(async () => ++runs);
  assert.deepEqual(await Promise.all([attempt.wait(), attempt.wait(), attempt.wait()]), [1, 1, 1]);
});

test("wait() fails everybody with what the work throws", async () => {
  const error = new Error("broken");
  const attempt = new SharedAttempt(() => Promise.reject(error));
  assert.deepEqual(await Promise.all([rejection(attempt.wait()), rejection(attempt.wait())]), [error, error]);
  assert.equal(attempt.abandoned, false);
});

test("wait() gives up for one caller; the work goes on while another waits", async () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const attempt = new SharedAttempt(untilAborted);
  const outcomes = [rejection(attempt.wait(first.signal)), rejection(attempt.wait(second.signal))];
  first.abort(new Error("first"));
  assert.equal((await outcomes[0]!).message, "first");
  assert.equal(attempt.abandoned, false);
  second.abort(new Error("second"));
  assert.equal((await outcomes[1]!).message, "second");
  assert.equal(attempt.abandoned, true);
  assert.equal((await rejection(attempt.result)).message, "second");
});

test("a signal that gives up after the result is there abandons nothing", async () => {
  const controller = new AbortController();
  const attempt = new SharedAttempt(async () => 1);
  assert.equal(await attempt.wait(controller.signal), 1);
  controller.abort();
  assert.equal(attempt.abandoned, false);
});

test("abandon() fails those who wait at once, also where the work ignores its signal", async () => {
  const attempt = new SharedAttempt(() => new Promise(() => {}));
  const outcome = rejection(attempt.wait());
  attempt.abandon(new Error("closed"));
  assert.equal((await outcome).message, "closed");
});
