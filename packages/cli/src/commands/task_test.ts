import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { connect } from "@envport/client";
import { beforeEach, expect, test } from "vitest";
import type { Result, StartOptions } from "../_testing.ts";
import { envport, project, serveIn, start } from "../_testing.ts";

let folder: string;

beforeEach(() => {
  folder = project(["env.ts", "greeting.ts", "shell_env.ts"]);
});

/** Runs `envport task …` with a folder for state of its own. */
async function task(words: readonly string[], options: StartOptions = {}): Promise<Result> {
  const env = { XDG_STATE_HOME: path.join(folder, "state"), ...options.env };
  return await envport(["task", ...words], { cwd: folder, ...options, env });
}

test(
  "list shows ids, arguments and descriptions; --quiet the ids, --json the schemas",
  { timeout: 60_000 },
  async () => {
    const { url } = await serveIn(folder, "env.ts");
    const { code, stdout } = await task(["list", "--url", url]);
    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual([
      'greet  {who?: string = "world", mood?: "glad" | "sad" = "glad"}  Greet somebody',
      "needs  {count: number}",
      "fails",
      "waits",
      "",
    ]);
    expect((await task(["list", "--url", url, "-q"])).stdout).toBe("greet\nneeds\nfails\nwaits\n");
    expect(JSON.parse((await task(["list", "--url", url, "--json"])).stdout)[1]).toMatchObject({
      id: "needs",
      args: { type: "object", required: ["count"] },
    });
  },
);

test("start and grade are two calls on a served environment", { timeout: 60_000 }, async () => {
  const { url } = await serveIn(folder, "env.ts");
  const started = await task(["start", "greet", "--url", url, "--args", '{"who": "Ada"}']);
  expect(started).toMatchObject({ code: 0, stdout: "Say hello to Ada\n" });
  expect(started.stderr).toBe(`(Grade it with: envport task grade greet --answer <text> --url ${url})\n`);
  // Somebody else's task is there, too, and stays theirs.
  const other = await connect(url);
  await other.start("greet");
  await other.close();
  const graded = await task(["grade", "greet", "--url", url, "--answer", "hello Ada"]);
  expect(graded).toEqual({ code: 0, stdout: "1\n", stderr: "" });
  await using back = await connect(url, { sessionId: other.sessionId });
  expect(await back.grade("hello world")).toMatchObject({ score: 1 });
});

test(
  "a start that is done again gives the first one up, and a grade takes the last",
  { timeout: 60_000 },
  async () => {
    const { url, server } = await serveIn(folder, "env.ts");
    await task(["start", "waits", "--url", url]);
    await task(["start", "waits", "--url", url]);
    await server.until("stderr", /cleaned up/);
    const { stdout } = await task(["start", "greet", "--url", url, "--json"]);
    const { session, prompt } = JSON.parse(stdout);
    expect(prompt).toBe("Say hello to world");
    const graded = await task([
      "grade",
      "greet",
      "--url",
      url,
      "--session",
      session,
      "--answer",
      "hello world",
      "--json",
    ]);
    expect(JSON.parse(graded.stdout)).toEqual({ score: 1, note: "graded" });
  },
);

test("what is remembered is for this user alone, and gone after the grade", { timeout: 60_000 }, async () => {
  const { url } = await serveIn(folder, "env.ts");
  await task(["start", "greet", "--url", url]);
  const state = path.join(folder, "state/envport/sessions");
  expect(statSync(state).mode & 0o777).toBe(0o700);
  const [file, ...others] = readdirSync(state);
  expect(others).toEqual([]);
  expect(statSync(path.join(state, file!)).mode & 0o777).toBe(0o600);
  await task(["grade", "greet", "--url", url, "--answer", "hello world"]);
  expect(readdirSync(state)).toEqual([]);
});

test(
  "a folder for state that cannot be written costs a warning that has the session",
  { timeout: 60_000 },
  async () => {
    const { url } = await serveIn(folder, "env.ts");
    writeFileSync(path.join(folder, "state"), "no folder");
    const { code, stdout, stderr } = await task(["start", "greet", "--url", url]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Say hello to world\n" });
    const [, session] = /grade it with --session (sess-[0-9a-f]{32})/.exec(stderr)!;
    const graded = await task([
      "grade",
      "greet",
      "--url",
      url,
      "--session",
      session!,
      "--answer",
      "hello world",
    ]);
    expect(graded.stdout).toBe("1\n");
  },
);

test(
  "a grade without a start says what can be done, and does each of it on request",
  { timeout: 60_000 },
  async () => {
    const { url } = await serveIn(folder, "env.ts");
    const words = ["grade", "greet", "--url", url, "--answer", "hello world"];
    const refused = await task(words);
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: `envport: Cannot grade 'greet' as you have not started it at ${url}: run envport task start greet first, or say --session <id>, --adopt or --start\n`,
    });
    expect(await task([...words, "--start"])).toMatchObject({ code: 0, stdout: "1\n" });
    const other = await connect(url);
    await other.start("greet", { who: "Eve" });
    await other.close();
    expect(await task([...words, "--adopt"])).toMatchObject({ code: 0, stdout: "0\n" });
    const none = await task([...words, "--adopt"]);
    expect(none).toMatchObject({ code: 1, stderr: "envport: no task in progress\n" });
  },
);

test(
  "an environment that was restarted no longer has the session, and the grade says so",
  { timeout: 60_000 },
  async () => {
    const { url, server } = await serveIn(folder, "env.ts");
    await task(["start", "greet", "--url", url]);
    await server.stop();
    expect((await task(["grade", "greet", "--url", url, "--wait", "0"])).code).toBe(3);
    const again = start(["serve", "env.ts", "--port", /\d+$/.exec(url)![0]], { cwd: folder });
    await again.until("stdout", /HUD_SERVE_PORT/);
    const gone = await task(["grade", "greet", "--url", url, "--answer", "x"]);
    expect(gone).toMatchObject({ code: 1, stdout: "" });
    expect(gone.stderr).toMatch(/no longer has its session \(unknown session: .*\): start the task again\n$/);
    // A new start does not mind.
    expect(await task(["start", "greet", "--url", url])).toMatchObject({
      code: 0,
      stdout: "Say hello to world\n",
    });
  },
);

test("--source serves a module for the time of the command", { timeout: 60_000 }, async () => {
  const list = await task(["list", "--source", "env.ts", "-q"]);
  expect(list).toMatchObject({ code: 0, stdout: "greet\nneeds\nfails\nwaits\n" });
  const graded = await task(["grade", "greet", "-s", ".", "--answer", "hello Bo", "--args", '{"who":"Bo"}']);
  expect(graded).toMatchObject({ code: 0, stdout: "1\n" });
  const started = await task(["start", "write", "--source", "shell_env.ts:shells"]);
  expect(started).toMatchObject({ code: 0, stdout: "Write 42 into answer.txt\n" });
  expect(started.stderr).toContain("The environment ends here");
  const broken = await task(["list", "--source", "greeting.ts"]);
  expect(broken).toMatchObject({ code: 1, stdout: "" });
  expect(broken.stderr).toMatch(
    /exports no Environment[^]*ended before it was served \(exit code 2\): its reason stands above\n$/,
  );
});

test(
  "answers come from a file or from standard input, results go to a file",
  { timeout: 60_000 },
  async () => {
    const { url } = await serveIn(folder, "env.ts");
    const [answer, out] = [path.join(folder, "answer.txt"), path.join(folder, "out.txt")];
    writeFileSync(answer, "hello world");
    const words = ["grade", "greet", "--url", url, "--start"];
    expect(await task([...words, "--answer-file", answer, "--out", out])).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
    expect(readFileSync(out, "utf8")).toBe("1\n");
    const piped = await task([...words, "--answer-file", "-", "--json"], { input: "hello world" });
    expect(JSON.parse(piped.stdout)).toEqual({ score: 1, note: "graded" });
    mkdirSync(path.join(folder, "folder"));
    const unwritable = await task([...words, "--answer", "x", "--out", path.join(folder, "folder")]);
    expect(unwritable).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Cannot write --out ".*folder": EISDIR\n$/),
    });
  },
);

test.each([
  [
    ["start", "greet", "--args", "{who: 1}"],
    2,
    /--args as it must be JSON \(.*\): for example --args '\{"n": 1\}'\n$/,
  ],
  [
    ["start", "greet", "--args", "[1]"],
    2,
    /--args as it must be a JSON object: current value is \[1\]; for example/,
  ],
  [["grade", "greet", "--answer", "x", "--answer-file", "y"], 2, /--answer and --answer-file together/],
  [
    ["grade", "greet", "--answer-file", "nowhere.txt"],
    2,
    /Cannot read --answer-file "nowhere\.txt": ENOENT\n$/,
  ],
  [
    ["list", "--url", "127.0.0.1:1", "--source", "env.ts"],
    2,
    /--url and --source together: one attaches, the other spawns\n$/,
  ],
  [
    ["list", "--wait", "0"],
    3,
    /serve one with envport serve <file>, or say --url <url> or --source <file>\n$/,
  ],
])("%j is refused with what would be right", async (words, code, message) => {
  const result = await task(words);
  expect(result).toMatchObject({ code, stdout: "" });
  expect(result.stderr).toMatch(message);
});

test("what the environment refuses ends with 1, in its own words", { timeout: 60_000 }, async () => {
  const { url } = await serveIn(folder, "env.ts");
  const unknown = await task(["start", "greed", "--url", url]);
  expect(unknown).toMatchObject({
    code: 1,
    stdout: "",
    stderr: "envport: Cannot start 'greed' as fixture has no such task; did you mean 'greet'?\n",
  });
  const invalid = await task(["start", "needs", "--url", url, "--args", '{"count": "many"}']);
  expect(invalid).toMatchObject({ code: 1, stderr: expect.stringContaining("count") });
  const failed = await task(["grade", "fails", "--url", url, "--start", "--json"]);
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stderr)).toMatchObject({
    error: { message: expect.stringContaining("the disk is full"), exitCode: 1 },
  });
});
