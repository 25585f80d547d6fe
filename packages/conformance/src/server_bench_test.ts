import { Environment, serve } from "@envport/server";
import { expect, onTestFinished, test } from "vitest";
import { serveFixture } from "../fixtures/server.ts";
import { blemishes, faulty, program } from "./_testing.ts";
import { BenchError } from "./bench_error.ts";
import { runServerBench } from "./server_bench.ts";

/** Rules that no bench on the wire sees, yet. */
const UNSEEN = ["CONN-5", "SESS-10", "TUN-5", "TUN-6"];

/** So that another run can repeat a random one, or play more: `MODEL_SEED=… MODEL_RUNS=…`. */
const seed = Number(process.env["MODEL_SEED"] ?? Date.now() % 2 ** 31);
const modelRuns = Number(process.env["MODEL_RUNS"] ?? 40);
const played = `${String(modelRuns)} random sequences of seed ${String(seed)}`;

test(
  `our server passes the strict profile, with ${played}`,
  { timeout: 120_000 + modelRuns * 1_000 },
  async () => {
    const command = program("fixtures/server.ts");
    const report = await runServerBench({ command, modelRuns, seed, patience: 20_000 });
    const notClaimed = UNSEEN.map((id) => expect.stringMatching(`^${id} not claimed: not seen on the wire`));
    expect(blemishes(report)).toEqual(notClaimed);
    expect(report).toMatchObject({ side: "server", profile: "strict", ok: true, model: { seed } });
    expect(report.model!.steps).toBeGreaterThan(modelRuns);
  },
);

test("our server passes the base profile's model and rules, at an address", { timeout: 60_000 }, async () => {
  const server = await serveFixture();
  onTestFinished(() => server.close());
  const rules = ["SESS-2", "SESS-5", "SESS-6", "ERR-2", "model"];
  const report = await runServerBench({ url: server.url, profile: "base", rules, modelRuns, seed });
  expect(blemishes(report)).toEqual(["SESS-6 not claimed: not in the base profile"]);
});

test("a rule that needs the server's process is not claimed at an address", async () => {
  const { url } = await faulty();
  const report = await runServerBench({ url, rules: ["CONN-6", "TASK-11"], profile: "strict" });
  expect(blemishes(report)).toEqual([
    expect.stringMatching(/^CONN-6 not claimed: the bench must start the server itself/),
    expect.stringMatching(/^TASK-11 not claimed: the bench must start the server itself/),
  ]);
  expect(report.ok).toBe(true);
});

test("a server without the fixture is told to be the wrong one", async () => {
  const server = await serve(new Environment({ name: "bare" }));
  onTestFinished(() => server.close());
  const bench = runServerBench({ url: server.url });
  await expect(bench).rejects.toThrow(BenchError);
  await expect(bench).rejects.toThrow(/offers none of the fixture's tasks \(echo, /);
});

test("a part of the fixture that is missing fails what needs it, by name", async () => {
  const env = new Environment({ name: "half" });
  env.template("echo").run(async function* () {
    yield 1;
  });
  const server = await serve(env);
  onTestFinished(() => server.close());
  const report = await runServerBench({ url: server.url, rules: ["TASK-6"] });
  expect(blemishes(report)).toEqual([
    expect.stringContaining(
      "expected the fixture to offer 'slow-end', 'throw-grade', 'ledger'; got it is missing",
    ),
  ]);
});

test.each([
  [
    "nobody listens",
    { url: "tcp://127.0.0.1:1" },
    /Cannot connect to the server at 127\.0\.0\.1:1: ECONNREFUSED/,
  ],
  ["the address is none", { url: "nonsense" }, /must be tcp:\/\/host:port: current value is "nonsense"/],
  ["the command is none", { command: ["/no/such/program"] }, /Cannot start the server: spawn .* ENOENT/],
  [
    "the command ends",
    { command: [process.execPath, "-e", "console.error('oh'); process.exit(3)"] },
    /code 3 .*\noh/,
  ],
  ["the rule is none", { url: "tcp://127.0.0.1:1", rules: ["SESS-99"] }, /the contract has no such rule/],
  ["the rule binds clients", { url: "tcp://127.0.0.1:1", rules: ["CLI-1"] }, /as it binds the client/],
])("the bench cannot run where %s, and says so", async (_, options, message) => {
  const bench = runServerBench(options);
  await expect(bench).rejects.toThrow(BenchError);
  await expect(bench).rejects.toThrow(message);
});

test(
  "a server that a scenario brings down is started again for the others",
  { timeout: 60_000 },
  async () => {
    const command = program("fixtures/faulty/faulty_server.ts", "ends at a first line that is too long");
    const report = await runServerBench({
      command,
      rules: ["CONN-3", "FRAME-11", "SESS-3"],
      patience: 20_000,
    });
    expect(blemishes(report)).toEqual([
      expect.stringMatching(/^CONN-3 fail: a first line over 64 KiB .*the server had ended with code 3/),
    ]);
  },
);
