import { expect, onTestFinished, test } from "vitest";
import { run, temporaryFolder, until } from "./_testing.ts";
import { Sandbox } from "./sandbox.ts";
import type { SandboxCommand, SandboxProcess } from "./sandbox_process.ts";

/** Control sequences, and the carriage return that bash writes after one. */
const ESCAPES = new RegExp(String.raw`\u001b\[\?2004l\r|\u001b\[[0-9;?]*[a-zA-Z]`, "g");

/** A command on a terminal, and what it has shown so far. */
class Screen {
  readonly process: SandboxProcess;
  shown = "";

  constructor(process: SandboxProcess) {
    this.process = process;
    process.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.shown = (this.shown + text).replace(ESCAPES, "");
    });
  }

  type(keys: string): void {
    this.process.stdin.write(keys);
  }

  shows(what: string | RegExp, ms = 5000): Promise<void> {
    return until(
      () => (typeof what === "string" ? this.shown.includes(what) : what.test(this.shown)),
      ms,
      () => `${what} in ${JSON.stringify(this.shown.slice(-1000))}`,
    );
  }
}

async function screen(
  argv: readonly string[],
  more: Partial<SandboxCommand> = {},
): Promise<{ sandbox: Sandbox; terminal: Screen }> {
  const sandbox = new Sandbox({ root: temporaryFolder() });
  onTestFinished(() => sandbox.stop());
  const process = await sandbox.spawn({ argv, pty: { rows: 30, cols: 100, term: "xterm" }, ...more });
  return { sandbox, terminal: new Screen(process) };
}

const SHELL = ["bash", "--norc", "--noprofile", "-i"];
const PROMPT = /\$ $/;

test("a command with a pty has a terminal of the sandbox's own, of the size asked for", async () => {
  const { terminal } = await screen([
    "bash",
    "-c",
    "tty; stty size; echo $TERM; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; echo x > /dev/tty",
  ]);
  expect(await terminal.process.exit).toEqual({ code: 0, signal: null });
  await terminal.shows("all\r\nx\r\n");
  expect(terminal.shown).toBe("/dev/pts/0\r\n30 100\r\nxterm\r\nall\r\nx\r\n");
  expect(terminal.process.stderr).toBeUndefined();
});

test("a terminal's environment and arguments are exact", async () => {
  const env = { "ODD-NAME": "1 '2'", SHELL: "/bin/mine", HOME: "/h", PATH: "/usr/bin" };
  const first = await screen(["env", "-0"], { env });
  await first.terminal.process.exit;
  await first.terminal.shows("/bin/mine");
  expect(first.terminal.shown.split("\0").filter(Boolean).sort()).toEqual([
    "HOME=/h",
    "LANG=C.UTF-8",
    "ODD-NAME=1 '2'",
    "PATH=/usr/bin",
    "SHELL=/bin/mine",
    "TERM=xterm",
  ]);
  const second = await screen(["printf", "<%s>", "it's", "", "a\nb", "$HOME", "-x"]);
  await second.terminal.shows("<it's><><a\r\nb><$HOME><-x>");
});

test("a terminal command of 128 KiB works", async () => {
  const { terminal } = await screen(["bash", "-c", 'echo "length ${#1}"', "bash", "x".repeat(131_000)]);
  await terminal.shows("length 131000");
});

test("resize() changes the size and tells the foreground program", async () => {
  const { terminal } = await screen([
    "bash",
    "-c",
    'trap "echo told" WINCH; while :; do stty size; sleep 0.1; done',
  ]);
  await terminal.shows("30 100");
  terminal.process.resize({ rows: 44, cols: 140 });
  await terminal.shows("told");
  await terminal.shows("44 140");
  terminal.process.resize({ rows: -5, cols: 1e9 });
  await terminal.shows("1 65535");
  terminal.process.kill();
  await terminal.process.exit;
});

test("resize() right after the start is not lost", async () => {
  const { terminal } = await screen(["bash", "-c", "sleep 0.4; stty size"]);
  terminal.process.resize({ rows: 12, cols: 34 });
  await terminal.shows("12 34");
});

/** Runs in the foreground, and says so once it does: keys typed before reach the shell. */
const SLEEP = "bash -c 'echo r$((1))dy; sleep 1000'\n";

test("Ctrl-C interrupts the foreground program and leaves the shell", async () => {
  const { terminal } = await screen(SHELL);
  await terminal.shows(PROMPT);
  terminal.type(SLEEP);
  await terminal.shows("r1dy");
  terminal.type("\u0003");
  await terminal.shows("^C");
  await terminal.shows(PROMPT);
  terminal.type("echo status=$?\n");
  await terminal.shows("status=130");
  terminal.type("exit 5\n");
  expect(await terminal.process.exit).toEqual({ code: 5, signal: null });
});

test("job control works: Ctrl-Z, bg, jobs, fg", async () => {
  const { terminal } = await screen(SHELL);
  await terminal.shows(PROMPT);
  terminal.type(SLEEP);
  await terminal.shows("r1dy");
  terminal.type("\u001a");
  await terminal.shows("Stopped");
  await terminal.shows(PROMPT);
  terminal.type("bg\njobs\n");
  await terminal.shows(/Running\s+bash/);
  await terminal.shows(PROMPT);
  terminal.type("fg\n");
  await terminal.shows(/fg\r\nbash/);
  terminal.type("\u0003");
  await terminal.shows("^C");
  await terminal.shows(PROMPT);
  terminal.type("exit\n");
  await terminal.process.exit;
});

test("Ctrl-D and the end of the input end a shell", async () => {
  const { terminal } = await screen(SHELL);
  await terminal.shows(PROMPT);
  terminal.process.stdin.end();
  expect((await terminal.process.exit).code).toBe(0);
});

test("signal() reaches the program on the terminal", async () => {
  const { terminal } = await screen([
    "bash",
    "-c",
    'trap "echo got; exit 3" TERM; echo up; while :; do sleep 0.05; done',
  ]);
  await terminal.shows("up");
  terminal.process.signal("SIGTERM");
  expect(await terminal.process.exit).toEqual({ code: 3, signal: null });
});

test("kill() of a shell on a terminal leaves nothing of it", async () => {
  const { sandbox, terminal } = await screen(SHELL);
  terminal.type("sleep 1000 & sleep 1000\n");
  await until(async () => (await run(sandbox, "pgrep -c sleep")).out === "2\n", 3000, "two sleeps");
  terminal.process.kill();
  await terminal.process.exit;
  await until(async () => (await run(sandbox, "pgrep -c 'sleep|script'")).out === "0\n", 3000, "nothing");
});

test("a terminal's output arrives whole: 3 MB, and a paste of 100 KB", async () => {
  const { terminal } = await screen([
    "bash",
    "-c",
    "seq 1 400000; stty -icanon -echo min 1; echo go; head -c 100000 | wc -c",
  ]);
  await terminal.shows("go\r\n", 15_000);
  terminal.type("y".repeat(100_000));
  await terminal.shows("100000\r\n", 15_000);
  await terminal.process.exit;
  const lines = terminal.shown.split("\r\n").slice(0, 400_000);
  expect(lines.every((line, index) => line === String(index + 1))).toBe(true);
});

test("a full-screen program starts, follows a resize and ends", async () => {
  const { terminal } = await screen(["top", "-d", "0.2"]);
  await terminal.shows("PID USER");
  terminal.process.resize({ rows: 20, cols: 60 });
  terminal.type("q");
  expect((await terminal.process.exit).code).toBe(0);
});
