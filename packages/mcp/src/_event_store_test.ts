import assert from "node:assert/strict";
import { test } from "vitest";
import { Events } from "./_event_store.ts";

const message = (id: number, size = 0): { jsonrpc: "2.0"; id: number; result: Record<string, unknown> } => ({
  jsonrpc: "2.0",
  id,
  result: { pad: "x".repeat(size) },
});

async function replay(
  events: Events,
  session: string,
  lastId: string,
): Promise<{ stream: string; ids: unknown[] }> {
  const ids: unknown[] = [];
  const send = (_: string, sent: object): Promise<void> => {
    ids.push((sent as { id: unknown }).id);
    return Promise.resolve();
  };
  return { stream: await events.of(session).replayEventsAfter(lastId, { send }), ids };
}

test("events after one are replayed, of its stream and session only", async () => {
  const events = new Events({ maxBytes: 10_000, maxStreams: 10 });
  const [one, two] = [events.of("one"), events.of("two")];
  const first = await one.storeEvent("s", {} as never);
  await one.storeEvent("s", message(1));
  await one.storeEvent("other", message(2));
  await two.storeEvent("s", message(3));
  const second = await one.storeEvent("s", message(4));
  assert.deepEqual(await replay(events, "one", first), { stream: "s", ids: [1, 4] });
  assert.deepEqual(await replay(events, "one", second), { stream: "s", ids: [] });
  assert.ok(events.knows("one", first));
  assert.ok(!events.knows("two", "1.other"));
  assert.ok(!events.knows("one", "nonsense"));
});

test("over the budget, the streams that were used longest ago go first, whole", async () => {
  const events = new Events({ maxBytes: 3_000, maxStreams: 10 });
  const store = events.of("one");
  const a = await store.storeEvent("a", message(1, 1_000));
  const b = await store.storeEvent("b", message(2, 1_000));
  await store.storeEvent("a", message(3, 500));
  const c = await store.storeEvent("c", message(4, 1_000));
  assert.deepEqual(
    [a, b, c].map((id) => events.knows("one", id)),
    [true, false, true],
  );
  assert.ok(events.held.bytes <= 3_000);
});

test("a message over the whole budget is kept while its stream is the one in use", async () => {
  const events = new Events({ maxBytes: 1_000, maxStreams: 10 });
  const store = events.of("one");
  const first = await store.storeEvent("a", message(1, 600));
  await store.storeEvent("a", message(2, 5_000));
  assert.deepEqual((await replay(events, "one", first)).ids, [2]);
  await store.storeEvent("b", message(3));
  assert.deepEqual(events.held, { bytes: JSON.stringify(message(3)).length, streams: 1 });
});

test("there are at most so many streams, and a session that is over leaves nothing", async () => {
  const events = new Events({ maxBytes: 10_000, maxStreams: 3 });
  for (let i = 0; i < 10; i++) await events.of("one").storeEvent(String(i), message(i));
  await events.of("two").storeEvent("s", message(1));
  assert.equal(events.held.streams, 3);
  events.forget("one");
  assert.equal(events.held.streams, 1);
  events.forget("two");
  assert.deepEqual(events.held, { bytes: 0, streams: 0 });
});
