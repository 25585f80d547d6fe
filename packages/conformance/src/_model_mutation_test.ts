import { describe, expect, test } from "vitest";
import type { Fault, FaultName } from "../fixtures/faulty/faults.ts";
import { FAULTS } from "../fixtures/faulty/faults.ts";
import { runModel } from "./_model/run.ts";
import { faulty } from "./_testing.ts";

const faults = Object.entries(FAULTS) as [FaultName, Fault][];

describe("random sequences find a server that", () => {
  const known = faults.filter(([, { model }]) => model).map(([fault]) => fault);
  test.concurrent.each(known)("%s", { timeout: 120_000 }, async (fault) => {
    const facts = await faulty(fault);
    const options = { profile: "strict", runs: 150, seed: 7, shrinkMs: 0 } as const;
    const { status, reason, runs } = await runModel({ ...facts, patience: { ms: 2_000 } }, options);
    expect({ status, runs, reason }).toMatchObject({
      status: "fail",
      reason: expect.stringContaining("expected"),
    });
  });
});

test("a sequence that fails is as short as it can be, and reads as steps", { timeout: 120_000 }, async () => {
  const facts = await faulty("adopts live tasks");
  const { sequence } = await runModel(facts, { profile: "strict", runs: 100, seed: 1 });
  expect(sequence).toEqual([
    expect.stringMatching(/^c\d connects and says hello → session s0$/),
    expect.stringMatching(
      /^c\d (?:connects and says hello → session s1|tasks\.start .* → \{"prompt":"go:0"\})$/,
    ),
    expect.stringMatching(
      /^c\d (?:connects and says hello → session s1|tasks\.start .* → \{"prompt":"go:0"\})$/,
    ),
    expect.stringMatching(/^c\d tasks\.grade \{"answer":"A"\} → \{/),
  ]);
});
