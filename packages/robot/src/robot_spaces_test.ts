import assert from "node:assert/strict";
import { test } from "vitest";
import { robotSpaces } from "./robot_spaces.ts";

test("robotSpaces() takes the first action, and observations in order", () => {
  const { action, actionWidth, observations } = robotSpaces({
    features: {
      b: { role: "observation", type: "rgb" },
      turn: { role: "action", shape: [2, 3], units: "rad" },
      a: { role: "observation" },
      grip: { role: "action", names: ["grip"] },
    },
  });
  assert.deepEqual(action, { name: "turn", role: "action", shape: [2, 3], units: "rad" });
  assert.equal(actionWidth, 6);
  assert.deepEqual(Object.keys(observations), ["b", "a"]);
});

test("the width of an action is its shape, else its names, else unknown", () => {
  const width = (feature: object): number | undefined =>
    robotSpaces({ features: { action: { role: "action", ...feature } } }).actionWidth;
  assert.deepEqual(
    [
      width({ shape: [7], names: ["x"] }),
      width({ names: ["x", "y"] }),
      width({}),
      width({ shape: [], names: [] }),
    ],
    [7, 2, undefined, undefined],
  );
  assert.equal(width({ shape: ["x"] }), undefined);
});

test("robotSpaces() takes whatever a peer published", () => {
  for (const contract of [undefined, null, 7, {}, { features: [] }, { features: { f: null, g: "x" } }]) {
    assert.deepEqual(robotSpaces(contract), { action: undefined, actionWidth: undefined, observations: {} });
  }
});
