import { writeFileSync } from "node:fs";
import path from "node:path";
import { connect } from "@envport/client";
import { beforeEach, expect, test } from "vitest";
import { envport, project, serveIn, start } from "../_testing.ts";

let folder: string;

beforeEach(() => {
  folder = project(["env.ts", "greeting.ts", "shell_env.ts", "agent.ts", "several.ts"]);
});

test(
  "one episode is told in JSON lines in a pipe, with what the agent prints on standard error",
  { timeout: 60_000 },
  async () => {
    const { code, stdout, stderr } = await envport(["run", "greet", "--source", "env.ts"], { cwd: folder });
    expect(code).toBe(0);
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events).toEqual([
      {
        event: "connected",
        url: expect.stringMatching(/^tcp:/),
        environment: { name: "fixture", version: "1.2.3" },
        session: expect.stringMatching(/^sess-/),
      },
      { event: "progress", message: "thinking", fraction: 0.5 },
      { event: "started", task: "greet", args: {}, prompt: "Say hello to world" },
      { event: "answered", answer: "hello world", ms: expect.any(Number) },
      { event: "graded", score: 1, evaluation: { score: 1, note: "graded" }, ms: expect.any(Number) },
    ]);
    expect(stderr).toContain("the agent prints Say hello to world");
  },
);

test("an agent works through the capabilities of a spawned environment", { timeout: 60_000 }, async () => {
  const words = [
    "run",
    "write",
    "--agent",
    "agent.ts:write",
    "--source",
    "shell_env.ts:shells",
    "--min-score",
    "1",
  ];
  const { code, stdout } = await envport(words, { cwd: folder });
  expect(code).toBe(0);
  expect(JSON.parse(stdout.trimEnd().split("\n").at(-1)!)).toMatchObject({ event: "graded", score: 1 });
});

test(
  "a score below --min-score ends with 4, and the session leaves nothing behind",
  { timeout: 60_000 },
  async () => {
    const { url } = await serveIn(folder, "env.ts");
    const words = ["run", "greet", "--agent", "agent.ts", "--url", url, "--args", '{"who": "Ada"}'];
    expect((await envport(words, { cwd: folder })).code).toBe(0);
    const low = await envport([...words, "--min-score", "0.5"], { cwd: folder });
    expect(low.code).toBe(4);
    expect(low.stderr).toMatch(/The score is below 0\.5\n$/);
    await using client = await connect(url);
    await expect(client.grade("x", { adopt: true })).rejects.toThrow("no task in progress");
  },
);

test("an agent that fails ends with 1, its task given up", { timeout: 60_000 }, async () => {
  const { url, server } = await serveIn(folder, "env.ts");
  const failed = await envport(["run", "waits", "--agent", "agent.ts:breaks", "--url", url], { cwd: folder });
  expect(failed.code).toBe(1);
  expect(failed.stderr).toMatch(/^envport: The agent failed: no idea \(agent\.ts:\d+\)\n$/);
  await server.until("stderr", /cleaned up/);
  const verbose = await envport(["run", "waits", "--agent", "agent.ts:breaks", "--url", url, "--verbose"], {
    cwd: folder,
  });
  expect(verbose.stderr).toMatch(/at breaks \(.*agent\.ts:\d+:\d+\)/);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s gives the task up and ends with %d", async (signal, code) => {
  const { url, server } = await serveIn(folder, "env.ts");
  const running = start(["run", "waits", "--agent", "agent.ts:dawdles", "--url", url], { cwd: folder });
  await running.until("stdout", /"started"/);
  expect((await running.stop(signal)).code).toBe(code);
  await server.until("stderr", /cleaned up/);
});

test("an environment that goes away while the agent works ends with 3", { timeout: 60_000 }, async () => {
  const { url, server } = await serveIn(folder, "env.ts");
  const running = start(["run", "waits", "--agent", "agent.ts:dawdles", "--url", url], { cwd: folder });
  await running.until("stdout", /"started"/);
  server.child.kill("SIGKILL");
  const { code, stderr } = await running.ended;
  expect(code).toBe(3);
  expect(stderr).toMatch(/^envport: Cannot go on .*\n$/);
});

test.each([
  [["--agent", "nowhere.ts"], /Cannot use "nowhere\.ts" as there is no such file/],
  [
    ["--agent", "several.ts"],
    /Cannot use --agent "several\.ts" as it exports no such function: add 'export default async function/,
  ],
  [
    ["--agent", "agent.ts:motto"],
    /choose agent\.ts:breaks or agent\.ts:dawdles or agent\.ts:default or agent\.ts:write\n$/,
  ],
  [["--min-score", "high"], /--min-score as it must be a number: current value is "high"/],
])("%j is refused with what would be right", async (words, message) => {
  const { code, stdout, stderr } = await envport(["run", "greet", "--source", "env.ts", ...words], {
    cwd: folder,
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(message);
});

test("an agent's module that cannot be loaded is told of with its place", async () => {
  writeFileSync(path.join(folder, "broken.ts"), "\n\nnull.x;\nexport default async () => 1;\n");
  const { code, stderr } = await envport(["run", "greet", "--agent", "broken.ts", "--source", "env.ts"], {
    cwd: folder,
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^envport: Cannot load "broken\.ts": .*\(broken\.ts:3\)\n$/);
});
