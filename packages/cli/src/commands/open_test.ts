import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { PROGRAM, Running, envport, keptProject, project, serveIn, start } from "../_testing.ts";
import { Tmux } from "../_testing_tmux.ts";

let folder: { path: string; remove(): void };
let server: Running;
let url: string;

beforeAll(async () => {
  folder = keptProject(["shell_env.ts"]);
  server = new Running(["serve", "shell_env.ts", "--port", "0"], { cwd: folder.path });
  const [, port] = await server.until("stdout", /HUD_SERVE_PORT=(\d+)\n/);
  url = `tcp://127.0.0.1:${port!}`;
});

afterAll(async () => {
  await server.stop();
  folder.remove();
});

const quote = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(" ");

test(
  "a shell opens in a real terminal, follows its size, takes Ctrl-C, and leaves the terminal as it was",
  { timeout: 60_000 },
  async () => {
    using tmux = new Tmux({ cols: 90, rows: 20 });
    tmux.type("stty -a > before; PS1='outer> '\n", folder.path);
    await tmux.until(/^outer> $/m);
    tmux.type(`${quote([...PROGRAM, "open", url, "shell"])}\n`);
    await tmux.until(/workspace/);
    tmux.type("PS1='inner> '\n");
    await tmux.until(/^inner> $/m);
    tmux.type("stty size; pwd; tty\n");
    await tmux.until(/^20 90\n\/workspace\n\/dev\/(pts\/)?\w+$/m);
    tmux.resize({ cols: 70, rows: 15 });
    tmux.type("clear; stty size\n");
    await tmux.until(/^15 70$/m);
    tmux.type("sleep 100\n");
    await tmux.until(/sleep 100/);
    tmux.key("C-c");
    await tmux.until(/\^C\ninner> $/m);
    tmux.type("exit 5\n");
    await tmux.until(/outer> $/m);
    tmux.type(
      "echo code $?; stty -a > after; diff <(sed 's/rows.*//' before) <(sed 's/rows.*//' after) && echo same\n",
    );
    await tmux.until(/^code 5\nsame$/m);
  },
);

test(
  "a shell whose environment is killed says so, and the terminal is as it was",
  { timeout: 60_000 },
  async () => {
    const own = await serveIn(project(["shell_env.ts"]), "shell_env.ts");
    using tmux = new Tmux({ cols: 90, rows: 20 });
    tmux.type("PS1='outer> '\n", folder.path);
    tmux.type(`${quote([...PROGRAM, "open", own.url, "ssh"])}\n`);
    await tmux.until(/@workspace:/);
    own.server.child.kill("SIGKILL");
    await tmux.until(/envport: Cannot .*\n(.*\n)*outer> $/);
    tmux.type("echo code $?; stty -a | grep -o ' icanon'\n");
    await tmux.until(/^code 3\n icanon$/m);
  },
);

test("exec --tty gives a command a terminal", { timeout: 60_000 }, async () => {
  using tmux = new Tmux({ cols: 80, rows: 20 });
  tmux.type(
    `${quote([...PROGRAM, "exec", "-t", url, "--", "bash", "-c", "stty size; read -p name: x; echo hi $x; exit 4"])}; echo code $?\n`,
    folder.path,
  );
  await tmux.until(/^20 80\nname:$/m);
  tmux.type("Ada\n");
  await tmux.until(/^hi Ada\ncode 4$/m);
});

test(
  "in a pipe it prints the address, and a command line with which OpenSSH gets in, until it is stopped",
  { timeout: 60_000 },
  async () => {
    const running = start(["open", url, "shell"]);
    const [address] = await running.until("stdout", /^ssh:\/\/.*127\.0\.0\.1:\d+\n/);
    const [, command] = await running.until("stderr", /\(shell: (ssh .*)\)\n/);
    expect(command).toContain(`-p ${/\d+\n$/.exec(address)![0].trim()}`);
    const inside = spawnSync("bash", ["-c", `${command!} 'pwd; exit 6' < /dev/null`], { encoding: "utf8" });
    expect(inside).toMatchObject({ stdout: "/workspace\n", stderr: "", status: 6 });
    const key = / -i (\S+)/.exec(command!)![1]!;
    expect(existsSync(key)).toBe(true);
    expect((await running.stop("SIGINT")).code).toBe(0);
    expect(existsSync(path.dirname(key))).toBe(false);
  },
);

test(
  "--json has the address and the command, and no key unless it is asked for",
  { timeout: 60_000 },
  async () => {
    const running = start(["open", url, "ssh/2", "--json"]);
    await running.until("stdout", /\n/);
    expect(JSON.parse(running.stdout)).toMatchObject({
      name: "shell",
      protocol: "ssh/2",
      url: expect.stringMatching(/^ssh:\/\/.*127\.0\.0\.1:\d+$/),
      params: { client_key: "(hidden: --secrets shows it)" },
      ssh: expect.arrayContaining(["ssh", "-p"]),
    });
    const shown = start(["open", url, "shell", "--json", "--secrets"]);
    await shown.until("stdout", /PRIVATE KEY.*\n/);
  },
);

test("forward gives every binding an address, or those that are named", { timeout: 60_000 }, async () => {
  const running = start(["forward", url]);
  await running.until(
    "stdout",
    /^shell {9}ssh\/2 {11}ssh:\/\/\S*127\.0\.0\.1:\d+\nfiletracking {2}filetracking\/1 {2}\S+127\.0\.0\.1:\d+\S*\n/,
  );
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(running.stdout)![1]);
  const socket = net.connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const banner = await new Promise<string>((resolve, reject) => {
    socket.once("data", (data) => resolve(String(data))).once("error", reject);
  });
  expect(banner).toMatch(/^SSH-2\.0-/);
  expect((await running.stop()).code).toBe(0);

  const one = start(["forward", url, "filetracking", "--json"]);
  await one.until("stdout", /\n/);
  expect(JSON.parse(one.stdout)).toMatchObject([
    { name: "filetracking", url: expect.stringContaining("127.0.0.1:") },
  ]);
});

test("a binding that is not there is told of with those that are", { timeout: 60_000 }, async () => {
  for (const words of [
    ["open", url, "screen"],
    ["forward", url, "screen"],
  ]) {
    const { code, stdout, stderr } = await envport(words);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^envport: Cannot .*screen.*shell.*\n$/);
  }
});

test("forwarding ends with 3 when the environment goes away", { timeout: 60_000 }, async () => {
  const own = await serveIn(project(["shell_env.ts"]), "shell_env.ts");
  const running = start(["forward", own.url]);
  await running.until("stdout", /shell/);
  await own.server.stop();
  const { code, stderr } = await running.ended;
  expect(code).toBe(3);
  expect(stderr).toMatch(/\nenvport: Cannot go on .*\n$/);
});
