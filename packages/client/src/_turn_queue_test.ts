import assert from "node:assert/strict";
import { test } from "vitest";
import { noted, rejection } from "./_testing.ts";
import { TurnQueue } from "./_turn_queue.ts";

/** Work that ends when it is told to. */
function work(
  log: string[],
  name: string,
): { run: () => Promise<string>; end: () => void; fail: () => void } {
  let end!: () => void;
  let fail!: () => void;
  const done = new Promise<string>((resolve, reject) => {
    end = () => resolve(name);
    fail = () => reject(new Error(name));
  });
  return {
    run: () => {
      log.push(`${name} begins`);
      return done;
    },
    end,
    fail,
  };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("run() begins at once if nothing is under way, and else in the order asked for", async () => {
  const log: string[] = [];
  const queue = new TurnQueue();
  const [a, b, c] = [work(log, "a"), work(log, "b"), work(log, "c")];
  const results = [queue.run(a.run), queue.run(b.run), queue.run(c.run)];
  assert.deepEqual(log, ["a begins"]);
  for (const [{ end }, begun] of [
    [a, "b begins"],
    [b, "c begins"],
  ] as const) {
    end();
    await tick();
    assert.equal(log.at(-1), begun);
  }
  c.end();
  assert.deepEqual(await Promise.all(results), ["a", "b", "c"]);
});

test("run() goes on after work that fails", async () => {
  const queue = new TurnQueue();
  const a = work([], "a");
  const failed = queue.run(a.run);
  const next = queue.run(async () => "b");
  a.fail();
  assert.equal((await rejection(failed)).message, "a");
  assert.equal(await next, "b");
});

test("run() never begins work whose signal has given up, and lets nothing overtake because of it", async () => {
  const log: string[] = [];
  const queue = new TurnQueue();
  const [a, b, c] = [work(log, "a"), work(log, "b"), work(log, "c")];
  const giveUp = new AbortController();
  const first = queue.run(a.run);
  const second = queue.run(b.run, { signal: giveUp.signal, onAbort: () => log.push("b aborted") });
  const third = queue.run(c.run);
  const reason = new Error("enough");
  giveUp.abort(reason);
  assert.equal(await rejection(second), reason);
  assert.deepEqual(log, ["a begins"]);
  a.end();
  c.end();
  assert.deepEqual(await Promise.all([first, third]), ["a", "c"]);
  assert.deepEqual(log, ["a begins", "c begins"]);
});

test("run() tells of a signal that gives up on work that runs; the work keeps its turn until it is done", async () => {
  const log: string[] = [];
  const queue = new TurnQueue();
  const [a, b] = [work(log, "a"), work(log, "b")];
  const giveUp = new AbortController();
  const first = queue.run(a.run, { signal: giveUp.signal, onAbort: () => log.push("a aborted") });
  const second = queue.run(b.run);
  giveUp.abort(new Error("enough"));
  assert.equal((await rejection(first)).message, "enough");
  await tick();
  assert.deepEqual(log, ["a begins", "a aborted"]);
  a.fail();
  b.end();
  assert.equal(await second, "b");
});

test("run() refuses a signal that has given up before", async () => {
  const queue = new TurnQueue();
  const reason = new Error("enough");
  const never = (): Promise<never> => assert.fail("it ran");
  assert.equal(await rejection(queue.run(never, { signal: AbortSignal.abort(reason) })), reason);
});

test("run() forgets the signal once the work is done", async () => {
  const queue = new TurnQueue();
  const giveUp = new AbortController();
  const log: string[] = [];
  assert.equal(
    await queue.run(async () => 1, { signal: giveUp.signal, onAbort: () => log.push("aborted") }),
    1,
  );
  giveUp.abort();
  assert.deepEqual(log, []);
});

test("dismiss() sends away what waits and may be dismissed, and nothing else", async () => {
  const log: string[] = [];
  const queue = new TurnQueue();
  const [a, b, c] = [work(log, "a"), work(log, "b"), work(log, "c")];
  const outcomes = [
    noted(log, "a", queue.run(a.run, { dismissable: true })),
    noted(log, "b", queue.run(b.run, { dismissable: true })),
    noted(log, "c", queue.run(c.run)),
  ];
  queue.dismiss(new RangeError("dismissed"));
  a.end();
  c.end();
  await Promise.all(outcomes);
  assert.deepEqual(
    log.filter((line) => line.endsWith("begins")),
    ["a begins", "c begins"],
  );
  assert.deepEqual(
    log.filter((line) => !line.endsWith("begins")),
    ["b RangeError", "a ok", "c ok"],
  );
});

test("dismiss() finds work that would be next in the moment when the one before it is done", async () => {
  const log: string[] = [];
  const queue = new TurnQueue();
  const outcomes = Array.from({ length: 20 }, (_, index) => {
    const steps = async (): Promise<void> => {
      for (let i = 0; i < index; i++) await Promise.resolve();
    };
    const a = queue.run(steps);
    let begun = false;
    const b = queue.run(async () => (begun = true), { dismissable: true }).catch(() => {});
    return a.then(async () => {
      const before = begun;
      queue.dismiss(new Error("dismissed"));
      await b;
      if (begun !== before) log.push(`began after it was dismissed, ${index} steps`);
    });
  });
  await Promise.all(outcomes);
  assert.deepEqual(log, []);
});
