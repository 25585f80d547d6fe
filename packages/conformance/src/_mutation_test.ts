import { describe, expect, test } from "vitest";
import type { Fault, FaultName } from "../fixtures/faulty/faults.ts";
import { FAULTS } from "../fixtures/faulty/faults.ts";
import { blemishes, faulty, program } from "./_testing.ts";
import { runServerBench } from "./server_bench.ts";

/** Found by a test of its own, since it brings the server down. */
const DEADLY: FaultName = "ends at a first line that is too long";
const faults = (Object.entries(FAULTS) as [FaultName, Fault][]).filter(([fault]) => fault !== DEADLY);
test("the faulty server without a fault passes everything", { timeout: 120_000 }, async () => {
  const { url } = await faulty();
  const report = await runServerBench({ url, modelRuns: 25, patience: 20_000 });
  const notClaimed = ["CONN-5", "CONN-6", "SESS-10", "TASK-11", "TUN-5", "TUN-6"];
  expect(blemishes(report).map((text) => text.split(":")[0])).toEqual(
    notClaimed.map((id) => `${id} not claimed`),
  );
});

describe("the scenarios of a rule find a server that", () => {
  test.concurrent.each(faults)("%s", { timeout: 60_000 }, async (fault, { rule, program: asProgram }) => {
    const target = asProgram
      ? { command: program("fixtures/faulty/faulty_server.ts", fault) }
      : { url: (await faulty(fault)).url };
    const report = await runServerBench({ ...target, rules: [rule], patience: 1_500 });
    expect(report).toMatchObject({ ok: false, rules: [{ id: rule, status: "fail" }] });
    const [mismatch] = report.rules[0]!.scenarios.flatMap((one) => one.mismatch ?? []);
    expect(mismatch).toEqual({
      sent: expect.any(String),
      expected: expect.any(String),
      got: expect.any(String),
    });
  });
});
