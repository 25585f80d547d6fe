import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROGRAM, Running, envport, keptProject } from "../_testing.ts";

let folder: { path: string; remove(): void };
let server: Running;
let url: string;

beforeAll(async () => {
  folder = keptProject(["shell_env.ts", "env.ts", "greeting.ts"]);
  server = new Running(["serve", "shell_env.ts", "--port", "0"], { cwd: folder.path });
  const [, port] = await server.until("stdout", /HUD_SERVE_PORT=(\d+)\n/);
  url = `tcp://127.0.0.1:${port!}`;
});

afterAll(async () => {
  await server.stop();
  folder.remove();
});

const exec = (words: readonly string[], input = ""): ReturnType<typeof envport> =>
  envport(["exec", url, "--", ...words], { input });

test("words reach the program as they are, and its output comes back apart", async () => {
  const script = 'printf "<%s>" "$@"; echo oops >&2';
  expect(await exec(["bash", "-c", script, "x", "a  b", "$HOME", "it's", ""])).toEqual({
    code: 0,
    stdout: "<a  b><$HOME><it's><>",
    stderr: "oops\n",
  });
});

test("it runs inside, in the workspace's folder beside the module", async () => {
  expect(await exec(["bash", "-c", "pwd; echo 1 > made.txt"])).toMatchObject({
    code: 0,
    stdout: "/workspace\n",
  });
  expect(existsSync(path.join(folder.path, "workspace/made.txt"))).toBe(true);
});

test.each([
  [["bash", "-c", "exit 3"], 3],
  [["bash", "-c", "exit 255"], 255],
  [["no-such-program"], 127],
  [["bash", "-c", "kill -TERM $$"], 143],
])("%j ends with %d, as the command inside did", async (words, code) => {
  expect((await exec(words)).code).toBe(code);
});

test(
  "standard input is streamed to its end, and megabytes come back exact",
  { timeout: 60_000 },
  async () => {
    const bytes = randomBytes(3_000_000);
    const [program, ...args] = PROGRAM;
    const result = spawnSync(program!, [...args, "exec", url, "--", "cat"], {
      input: bytes,
      maxBuffer: 10_000_000,
    });
    expect(result.status).toBe(0);
    const hash = (data: Buffer): string => createHash("sha256").update(data).digest("hex");
    expect(hash(result.stdout)).toBe(hash(bytes));
  },
);

test("output comes while the command runs, and SIGINT reaches it", async () => {
  const running = new Running(
    ["exec", url, "--", "bash", "-c", "trap 'echo caught; exit 7' INT; echo ready; read x"],
    {},
  );
  await running.until("stdout", /ready/);
  running.child.kill("SIGINT");
  expect(await running.ended).toMatchObject({ code: 7, stdout: "ready\ncaught\n" });
});

test(
  "variables and the folder are set, and standard input is left alone on request",
  { timeout: 60_000 },
  async () => {
    const words = [
      "exec",
      url,
      "--cwd",
      "/tmp",
      "-e",
      "A=1 2",
      "-e",
      "B=",
      "-n",
      "--",
      "bash",
      "-c",
      'pwd; echo "$A,$B"; cat',
    ];
    const running = new Running(words, {});
    expect(await running.ended).toEqual({ code: 0, stdout: "/tmp\n1 2,\n", stderr: "" });
  },
);

test("a reader that goes away ends it", async () => {
  const command = [...PROGRAM, "exec", url, "--", "yes"].map((word) => `'${word}'`).join(" ");
  const { stdout } = spawnSync("bash", ["-c", `${command} | head -n 1; echo \${PIPESTATUS[0]}`], {
    encoding: "utf8",
  });
  expect(stdout).toBe("y\n141\n");
});

test("what cannot be run ends with 255, what is no command line with 2", { timeout: 60_000 }, async () => {
  const gone = await envport(["exec", "tcp://127.0.0.1:1", "--wait", "0", "--", "ls"]);
  expect(gone).toMatchObject({ code: 255, stdout: "", stderr: expect.stringContaining("ECONNREFUSED") });
  const other = await envport(["exec", url, "--binding", "shel", "--", "ls"]);
  expect(other).toMatchObject({ code: 255, stderr: expect.stringMatching(/shel.*shell/) });
  const wrong = await envport(["exec", url, "-e", "1=2", "--", "ls"]);
  expect(wrong).toMatchObject({
    code: 2,
    stderr: 'envport: Cannot use --env as it must be name=value: current value is "1=2"\n',
  });
  const tty = await envport(["exec", url, "-t", "--", "ls"]);
  expect(tty).toMatchObject({
    code: 2,
    stderr: "envport: Cannot use --tty as standard input and output are no terminal\n",
  });
});

test(
  "an environment that goes away while the command runs ends it with 255",
  { timeout: 60_000 },
  async () => {
    const other = new Running(["serve", "shell_env.ts", "--port", "0"], { cwd: folder.path });
    const [, port] = await other.until("stdout", /HUD_SERVE_PORT=(\d+)\n/);
    const running = new Running(
      ["exec", `127.0.0.1:${port!}`, "--", "bash", "-c", "echo ready; sleep 100"],
      {},
    );
    await running.until("stdout", /ready/);
    other.child.kill("SIGKILL");
    const { code, stderr } = await running.ended;
    expect(code).toBe(255);
    expect(stderr).toMatch(/^envport: Cannot .*\n$/);
  },
);
