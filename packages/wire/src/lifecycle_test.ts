import assert from "node:assert/strict";
import { test } from "vitest";
import { Lifecycle } from "./lifecycle.ts";

/** Counts what a lifecycle calls. */
function counted(fails = false): { lifecycle: Lifecycle<number>; log: string[]; release: () => void } {
  const log: string[] = [];
  let release = (): void => {};
  let starts = 0;
  const lifecycle = new Lifecycle<number>({
    name: "counter",
    start: async () => {
      const turn = ++starts;
      log.push(`start ${String(turn)}`);
      await new Promise<void>((resolve) => (release = resolve));
      if (fails) throw new Error(`failure ${String(turn)}`);
      return turn;
    },
    stop: async (turn) => {
      await Promise.resolve();
      log.push(`stop ${String(turn)}`);
    },
  });
  return { lifecycle, log, release: () => release() };
}

test("two starts are one, and so are two stops", async () => {
  const { lifecycle, log, release } = counted();
  assert.throws(() => lifecycle.running, /counter as it must be started/);
  const starts = [lifecycle.start(), lifecycle.start()];
  await Promise.resolve();
  await Promise.resolve();
  release();
  assert.deepEqual(await Promise.all(starts), [1, 1]);
  assert.equal(lifecycle.running, 1);
  await Promise.all([lifecycle.stop(), lifecycle.stop()]);
  await lifecycle.stop();
  assert.equal(lifecycle.current, undefined);
  assert.deepEqual(log, ["start 1", "stop 1"]);
});

test("a stop during a start waits for it, and a start during a stop begins anew", async () => {
  const { lifecycle, log, release } = counted();
  const first = lifecycle.start();
  await new Promise(setImmediate);
  const stopped = lifecycle.stop();
  const second = lifecycle.start();
  release();
  await Promise.all([first, stopped]);
  await new Promise(setImmediate);
  release();
  assert.equal(await second, 2);
  assert.deepEqual(log, ["start 1", "stop 1", "start 2"]);
});

test("a start that fails may be tried again, and leaves nothing to stop", async () => {
  const { lifecycle, log, release } = counted(true);
  for (const turn of [1, 2]) {
    const starting = lifecycle.start();
    await new Promise(setImmediate);
    release();
    await assert.rejects(starting, new RegExp(`failure ${String(turn)}`));
  }
  await lifecycle.stop();
  assert.deepEqual(log, ["start 1", "start 2"]);
  await assert.rejects(lifecycle.start({ signal: AbortSignal.abort(new Error("no")) }), /no/);
});
