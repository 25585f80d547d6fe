import { describe, expect, test } from "vitest";
import { evaluationFrame } from "./_evaluation_frame.ts";
import { evaluation } from "./evaluation.ts";

describe("evaluation()", () => {
  test("TASK-5: it becomes a frame with score for reward, its defaults filled in", () => {
    expect(evaluationFrame(evaluation({ reward: 0.5 }), "t")).toEqual({
      done: true,
      content: null,
      info: {},
      isError: false,
      subscores: null,
      score: 0.5,
    });
  });

  test("TASK-5: subscores keep their tree", () => {
    const frame = evaluationFrame(
      evaluation({
        reward: 0.75,
        done: false,
        content: "three of four",
        info: { seed: 7 },
        isError: true,
        subscores: [
          { name: "tests", value: 1, weight: 3, children: [{ name: "unit", value: 1, info: { ms: 5 } }] },
          { name: "lint", value: 0, weight: -1 },
        ],
      }),
      "t",
    );
    expect(frame).toEqual({
      done: false,
      content: "three of four",
      info: { seed: 7 },
      isError: true,
      subscores: [
        {
          name: "tests",
          weight: 3,
          value: 1,
          children: [{ name: "unit", weight: 1, value: 1, children: null, info: { ms: 5 } }],
          info: null,
        },
        { name: "lint", weight: -1, value: 0, children: null, info: null },
      ],
      score: 0.75,
    });
  });

  test.each([NaN, Infinity, -Infinity, "1" as never, undefined as never])(
    "refuses a reward of %s",
    (reward) => {
      expect(() => evaluation({ reward })).toThrow(RangeError);
    },
  );
});

describe("evaluationFrame()", () => {
  test("TASK-5: an object with a numeric score passes as it is", () => {
    const value = { score: 1, anything: { else: [1, 2] } };
    expect(evaluationFrame(value, "t")).toBe(value);
  });

  test.each([
    [undefined, "undefined"],
    [null, "null"],
    ["1", "string"],
    [[1], "an array"],
    [() => 1, "function"],
    [{ reward: 1, done: true }, "keys: reward, done"],
    [{ score: null }, "keys: score"],
    [{}, "keys: "],
  ])("TASK-5: %j is refused in words that name it", (value, words) => {
    expect(() => evaluationFrame(value, "t")).toThrow(words);
    expect(() => evaluationFrame(value, "t")).toThrow(/^task 't' graded with/);
  });
});
