import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import type { SlotPhase } from "./_slot_table.ts";
import { SlotRefusal, SlotTable } from "./_slot_table.ts";

const ACTION = Float32Array.of(1);
const phases = (table: SlotTable): SlotPhase[] => table.slots.map(({ phase }) => phase);

/** Two slots that are driven. */
function driven(): SlotTable {
  const table = new SlotTable(2);
  for (const token of ["a", "b"]) {
    table.claim(token);
    table.dial(token);
  }
  return table;
}

test("a step needs an action of every active slot, and takes them out", () => {
  const table = driven();
  table.act(0, ACTION);
  assert.equal(table.ready, false);
  assert.throws(() => table.take(), /actions are missing/);
  table.act(1, Float32Array.of(2));
  table.act(1, Float32Array.of(3));
  assert.deepEqual(table.take(), [ACTION, Float32Array.of(3)]);
  assert.equal(table.ready, false);
});

test("nothing is stepped while a slot is being dialled", () => {
  const table = new SlotTable(2);
  table.claim("a");
  table.dial("a");
  table.act(0, ACTION);
  table.claim("b");
  assert.equal(table.ready, false);
  table.expire(1);
  assert.equal(table.ready, true);
  assert.throws(() => table.dial("b"), /slot 1 initial connection deadline expired/);
});

test("a slot that was not claimed before the first step is sealed until the batch is over", () => {
  const table = new SlotTable(2);
  table.claim("a");
  table.dial("a");
  table.act(0, ACTION);
  assert.deepEqual(table.take(), [ACTION, undefined]);
  assert.deepEqual(phases(table), ["active", "sealed"]);
  assert.throws(() => table.claim("b"), /all 2 slots are claimed/);
  table.release("a");
  assert.throws(() => table.claim("b"), /all 2 slots are claimed/);
  table.begin();
  assert.equal(table.claim("b").index, 0);
});

test("who drops out is not waited for, and may come back", () => {
  const table = driven();
  table.act(0, ACTION);
  table.drop(1);
  assert.deepEqual(phases(table), ["active", "idle"]);
  assert.deepEqual(table.take(), [ACTION, undefined]);
  table.dial("b");
  table.act(0, ACTION);
  assert.equal(table.ready, false);
});

test("an action after the end is refused, and the end is told again to who comes back", () => {
  const table = driven();
  table.end(0);
  assert.throws(() => table.act(0, ACTION), new SlotRefusal("slot 0 has already terminated"));
  table.drop(0);
  assert.equal(table.dial("a").phase, "terminated");
});

test("a slot has one driver, and a token one slot", () => {
  const table = driven();
  assert.throws(() => table.dial("a"), /slot 0 already has a live connection/);
  assert.throws(() => table.dial("c"), /unknown episode token: 'c'/);
  assert.throws(() => table.dial(null), /exactly one claimed slot, found 2/);
  table.release("b");
  assert.throws(() => table.find("b"), /unknown episode token/);
  table.drop(0);
  assert.equal(table.dial(null).index, 0);
});

type Command = "claim" | "dial" | "act" | "stall" | "drop" | "release" | "expire" | "end" | "step";
const command = fc.tuple(
  fc.constantFrom<Command>(
    "claim",
    "claim",
    "dial",
    "dial",
    "act",
    "act",
    "act",
    "stall",
    "drop",
    "release",
    "expire",
    "end",
    "step",
    "step",
  ),
  fc.nat(5),
);

test("in any order of commands: no deadlock, no step with a missing action, no slot lost", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(command, { maxLength: 120 }), (count, commands) => {
      const table = new SlotTable(count);
      let tokens = 0;
      for (const [name, number] of commands) {
        const slot = table.slots[number % count]!;
        const before = structuredClone(table.slots);
        try {
          apply(table, name, slot.index, () => `t${String(tokens++)}`);
        } catch (error) {
          assert.ok(error instanceof SlotRefusal, String(error));
          if (name !== "claim") assert.deepEqual(table.slots, before);
        }
        check(table);
      }
      finish(table, count);
    }),
    { numRuns: 3_000 },
  );
});

function apply(table: SlotTable, name: Command, index: number, token: () => string): void {
  const slot = table.slots[index]!;
  if (name === "claim") {
    if (table.vacant) table.begin();
    table.claim(token());
  } else if (name === "dial") table.dial(slot.token ?? "nobody");
  else if (name === "act") table.act(index, ACTION);
  else if (name === "stall" || name === "drop") table.drop(index);
  else if (name === "release") table.release(slot.token ?? "nobody");
  else if (name === "expire") table.expire(index);
  else if (name === "end") table.end(index);
  else if (table.ready) {
    const active = table.slots.filter(({ phase }) => phase === "active").map((one) => one.index);
    const actions = table.take();
    assert.ok(active.length > 0);
    assert.deepEqual(
      actions.flatMap((action, at) => (action ? [at] : [])),
      active,
    );
  } else assert.throws(() => table.take());
}

/** What holds at every moment. */
function check(table: SlotTable): void {
  const claimed = ["dialing", "active", "idle", "terminated", "expired"];
  for (const { phase, token, connected, action } of table.slots) {
    assert.equal(token !== undefined, claimed.includes(phase), phase);
    if (connected) assert.ok(phase === "active" || phase === "terminated", phase);
    if (phase === "active") assert.ok(connected);
    if (action) assert.equal(phase, "active");
  }
  const tokens = table.slots.flatMap(({ token }) => token ?? []);
  assert.equal(new Set(tokens).size, tokens.length);
}

/** Whatever has happened, who is there can step, and after all have gone every slot can be had again. */
function finish(table: SlotTable, count: number): void {
  for (const { index, phase } of table.slots) if (phase === "dialing") table.expire(index);
  for (const { index } of table.missing) table.act(index, ACTION);
  const isActive = table.slots.some(({ phase }) => phase === "active");
  assert.equal(table.ready, isActive);
  if (isActive) table.take();
  for (const { token } of [...table.slots]) if (token !== undefined) table.release(token);
  assert.ok(table.vacant);
  table.begin();
  assert.deepEqual(
    Array.from({ length: count }, (_, index) => table.claim(`last${String(index)}`).index),
    Array.from({ length: count }, (_, index) => index),
  );
}
