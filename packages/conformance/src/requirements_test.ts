import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { requirements } from "./requirements.ts";

const contract = readFileSync(new URL("../../../docs/contract.md", import.meta.url), "utf8");
/** Id and first mark of each rule; one without a mark is about both peers. */
const rows = [...contract.matchAll(/^\| ([A-Z]+-\d+) \| (?:\[(base|strict|more)\])?/gm)];

test("every rule of the contract is a requirement, in the same order", () => {
  expect(rows.length).toBeGreaterThan(50);
  expect(requirements.map(({ id }) => id)).toEqual(rows.map(([, id]) => id));
});

test("every requirement comes from where the contract says", () => {
  const wrong = rows.filter(([, id, mark]) => {
    const { source } = requirements.find((one) => one.id === id)!;
    return mark !== undefined && source !== mark;
  });
  expect(wrong.map(([, id]) => id)).toEqual([]);
});

test("every side that a requirement binds has a scenario, or there is a reason why it is not seen", () => {
  const uncovered = requirements.flatMap(({ id, sides, scenarios, unseen }) =>
    sides
      .filter((side) => !scenarios.some((scenario) => scenario.side === side))
      .filter(() => !unseen?.startsWith("all of it: "))
      .map((side) => `${id} ${side}`),
  );
  expect(uncovered).toEqual([]);
});

test("every scenario is one of a side that its rule binds, and its name is its own", () => {
  const scenarios = requirements.flatMap(({ id, sides, scenarios }) => {
    for (const { side, name } of scenarios) expect(sides, `${id}: ${name}`).toContain(side);
    return scenarios.map(({ side, name }) => `${id} ${side} ${name}`);
  });
  expect(scenarios.length).toBeGreaterThan(120);
  expect(new Set(scenarios).size).toBe(scenarios.length);
});

test("a rule that no scenario sees at all says so", () => {
  const silent = requirements.filter(({ scenarios }) => scenarios.length === 0);
  expect(silent.map(({ id }) => id)).toEqual(["CONN-5", "SESS-10", "TUN-5", "TUN-6"]);
  for (const { unseen } of silent) expect(unseen).toMatch(/^all of it: /);
});
