import { expect, test } from "vitest";
import { formatReport } from "./format_report.ts";
import type { Report } from "./report.ts";

const mismatch = { sent: "this", expected: "that", got: "something else" };
const report: Report = {
  side: "server",
  target: "tcp://127.0.0.1:8765",
  profile: "base",
  ok: false,
  rules: [
    { id: "CONN-1", sentence: "One", status: "pass", scenarios: [{ name: "it does", status: "pass" }] },
    {
      id: "CONN-2",
      sentence: "Two",
      status: "fail",
      scenarios: [
        { name: "it does not", status: "fail", reason: "…", mismatch },
        { name: "it broke", status: "fail", reason: "the bench itself failed: oh" },
        { name: "it does", status: "pass" },
      ],
    },
    {
      id: "CONN-3",
      sentence: "Three",
      status: "not-claimed",
      reason: "not in the base profile",
      scenarios: [],
    },
  ],
  model: {
    status: "fail",
    seed: 7,
    runs: 3,
    steps: 20,
    reason: "sent x; expected y; got z",
    sequence: ["a", "b"],
  },
};

test("a report is a line for each rule, and what was sent, expected and got for each failure", () => {
  expect(formatReport(report)).toBe(
    [
      "server tcp://127.0.0.1:8765, base profile",
      "",
      "pass  CONN-1    One",
      "FAIL  CONN-2    Two",
      "        FAIL: it does not",
      "          sent this",
      "          expected that; got something else",
      "        FAIL: it broke",
      "          the bench itself failed: oh",
      "-     CONN-3    Three (not in the base profile)",
      "FAIL  model     Sessions behave as the model of the table (3 random sequences, 20 steps, seed 7)",
      "        sent x; expected y; got z, after",
      "          1. a",
      "          2. b",
      "",
      "rules: 1 passed, 1 failed, the model failed, 1 not claimed",
      "",
    ].join("\n"),
  );
});

test("a verbose report lists every scenario", () => {
  expect(formatReport(report, { verbose: true })).toContain("        pass: it does\n");
});
