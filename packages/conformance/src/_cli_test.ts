import { expect, test } from "vitest";
import { readCliOptions } from "./_cli_options.ts";
import type { CliResult } from "./_run_cli.ts";
import { runCli } from "./_run_cli.ts";
import { cli, faulty, program } from "./_testing.ts";
import { BenchError } from "./bench_error.ts";

const run = (...words: string[]): Promise<CliResult> => runCli(words);

test("without words, and with --help, the command says what it can do", { timeout: 60_000 }, async () => {
  for (const words of [[], ["--help"], ["server", "--help"]]) {
    const { code, stdout } = await run(...words);
    expect(code).toBe(0);
    expect(stdout).toContain("envport-conformance server tcp://host:port");
    expect(stdout).toContain("--model-runs 100");
  }
});

test("a server that conforms ends the command with 0, and a table", { timeout: 60_000 }, async () => {
  const { url } = await faulty();
  const { code, stdout, stderr } = await run("server", url, "--rule", "SESS-3,frame-11", "--rule", "ERR-2");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.split("\n")).toEqual([
    `server ${url}, strict profile`,
    "",
    "pass  FRAME-11  Output is compact, its keys in the order jsonrpc, id, result or error",
    "pass  ERR-2     Messages keep the words that peers match on",
    "pass  SESS-3    Ids are sess- and 128 random bits in hex",
    "",
    "rules: 3 passed, 0 failed, 0 not claimed",
    "",
  ]);
});

test("the command is a program that prints, and ends with the exit code", { timeout: 60_000 }, async () => {
  const { url } = await faulty("has short ids");
  const words = ["server", url, "--rule", "SESS-3"];
  const { code, stdout, stderr } = await cli(...words);
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  expect(stdout).toContain("rules: 0 passed, 1 failed, 0 not claimed");
  expect(await cli("server")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Cannot try a server as .*\n$/),
  });
});

test("a server that fails ends the command with 1, and says what it did", { timeout: 60_000 }, async () => {
  const { url } = await faulty("has short ids");
  const { code, stdout } = await run("server", url, "--rule", "SESS-3");
  expect(code).toBe(1);
  expect(stdout).toMatch(/^FAIL {2}SESS-3 /m);
  expect(stdout).toMatch(/^ +FAIL: ids are sess- and 32 hex digits, and none comes twice$/m);
  expect(stdout).toMatch(/^ +sent \{"jsonrpc":"2\.0","id":1,"method":"hello","params":\{\}\}$/m);
  expect(stdout).toMatch(/^ +expected session_id sess-<32 hex digits>; got sess-[0-9a-f]{8}$/m);
});

test("--json prints one object, with the model's seed and sequence", { timeout: 60_000 }, async () => {
  const { url } = await faulty("parks on bye");
  const { code, stdout } = await run(
    "server",
    url,
    "--rule",
    "model",
    "--seed",
    "3",
    "--model-runs",
    "50",
    "--json",
  );
  expect(code).toBe(1);
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({ side: "server", target: url, profile: "strict", rules: [], ok: false });
  expect(report.model).toMatchObject({
    status: "fail",
    seed: 3,
    reason: expect.stringContaining("cleaned up once"),
  });
  expect(report.model.sequence.at(-1)).toMatch(/^c\d bye \{\} → \{"goodbye":true\}$/);
});

test("a failing sequence is printed step by step", { timeout: 60_000 }, async () => {
  const { url } = await faulty("adopts live tasks");
  const { stdout } = await run("server", url, "--rule", "model", "--seed", "1");
  expect(stdout).toMatch(/^FAIL {2}model .*\(\d+ random sequences, \d+ steps, seed 1\)$/m);
  expect(stdout).toMatch(/^ +1\. c0 connects and says hello → session s0$/m);
  expect(stdout).toContain("the model failed");
});

test("rules lists what is tried for each, and what is not seen", { timeout: 60_000 }, async () => {
  const { code, stdout } = await run("rules");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^SESS-6 {3}strict server, client: A retry never consumes another session's task/m);
  expect(stdout).toMatch(/^ +server: a session that has graded its own task never adopts$/m);
  expect(stdout).toMatch(/^ +not seen: the memory of the other process$/m);
  expect(JSON.parse((await run("rules", "--json")).stdout)).toContainEqual(
    expect.objectContaining({ id: "TUN-4" }),
  );
});

test("what cannot run ends the command with 2, and one sentence", { timeout: 60_000 }, async () => {
  const { code, stdout, stderr } = await run("server", "tcp://127.0.0.1:1");
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toBe("Cannot connect to the server at 127.0.0.1:1: ECONNREFUSED\n");
});

// A timer that is left behind keeps the program alive for longer than this test may take.
test("the client's command stands behind --, and nothing lingers", { timeout: 25_000 }, async () => {
  const words = program("fixtures/faulty/faulty_client.ts", "grades blind");
  const { code, stdout } = await cli("client", "--rule", "SESS-6", "--patience", "3000", "--", ...words);
  expect(code).toBe(1);
  expect(stdout).toContain("a client asks for replay, and grades nothing blind");
});

test.each([
  [["serve"], /must be server, client or rules/],
  [["server"], /must be tcp:\/\/host:port or -- <command…>, one of them/],
  [["server", "tcp://127.0.0.1:1", "--", "x"], /one of them/],
  [["server", "tcp://127.0.0.1:1", "x"], /a command stands behind --/],
  [["server", "--"], /none stands behind --/],
  [["client", "tcp://127.0.0.1:1"], /must be -- <command…>/],
  [["server", "tcp://127.0.0.1:1", "--profile", "loose"], /base or strict: current value is "loose"/],
  [
    ["server", "tcp://127.0.0.1:1", "--seed", "x"],
    /--seed as it must be a whole number: current value is "x"/,
  ],
  [["server", "tcp://127.0.0.1:1", "--model-runs", "-1"], /Cannot read the command line|whole number/],
  [["server", "tcp://127.0.0.1:1", "--colour"], /Cannot read the command line: Unknown option '--colour'/],
])("%j is refused with what would be right", (words, message) => {
  expect(() => readCliOptions(words)).toThrow(BenchError);
  expect(() => readCliOptions(words)).toThrow(message);
});
