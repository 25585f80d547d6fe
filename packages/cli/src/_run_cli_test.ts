import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { COMMANDS } from "./_commands.ts";
import { optionsOf } from "./_command.ts";
import { commandHelp } from "./_help.ts";
import { Invocation } from "./_invocation.ts";
import { envport } from "./_testing.ts";

test("without words, and with --help, it says what it can do", { timeout: 60_000 }, async () => {
  for (const words of [[], ["--help"], ["help"]]) {
    const { code, stdout, stderr } = await envport(words);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const { path, summary } of COMMANDS) {
      expect(stdout).toContain(`  ${path}`);
      expect(stdout.replaceAll(/\s+/g, " ")).toContain(summary);
    }
  }
});

test("each command has a help of its own", { timeout: 60_000 }, async () => {
  const { code, stdout } = await envport(["task", "grade", "--help"]);
  expect(code).toBe(0);
  expect(stdout).toBe((await envport(["help", "task", "grade"])).stdout);
  expect(stdout).toMatch(
    /^Answer a task and print its score\.\n\nUsage: envport task grade <task> \[options\]\n/,
  );
  expect(stdout).toContain(
    "  # Grade what 'task start fix-sum' began\n  envport task grade fix-sum --answer done\n",
  );
});

test.each(COMMANDS.map((command) => [command.path, command] as const))(
  "the help of %s names every option, fits into 96 columns, and its examples are command lines that it reads",
  (path, command) => {
    const help = commandHelp(command);
    for (const { name } of optionsOf(command)) expect(help).toContain(`--${name}`);
    for (const line of help.split("\n"))
      if (!line.startsWith("  envport ")) expect(line.length).toBeLessThanOrEqual(96);
    for (const [line] of command.examples) {
      const words = [...line.replace(/ [<>]+ .*$/, "").matchAll(/'([^']*)'|(\S+)/g)].map(
        ([, quoted, plain]) => quoted ?? plain!,
      );
      expect(words.slice(0, path.split(" ").length).join(" ")).toBe(path);
      expect(() => new Invocation(command, words.slice(path.split(" ").length))).not.toThrow();
    }
  },
);

test("--version is the package's", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(await envport(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test.each([
  [["serv", "env.ts"], "Cannot run 'serv' as there is no such command; did you mean 'serve'?"],
  [["deploy"], "Cannot run 'deploy' as there is no such command: see envport --help"],
  [["--prot", "1"], "Cannot use --prot as a command comes first: see envport --help"],
  [
    ["task"],
    "Cannot run 'task' as it needs one of list, start, grade: for example, envport task list --help",
  ],
  [["task", "strat"], "Cannot run 'task strat' as there is list, start, grade; did you mean 'task start'?"],
  [["connect", "--jsno"], "Cannot use --jsno as 'connect' has no such option; did you mean '--json'?"],
])("%j ends with 2 and one sentence that says what to do", async (words, message) => {
  expect(await envport(words)).toEqual({ code: 2, stdout: "", stderr: `envport: ${message}\n` });
});

test(
  "an environment that is not there ends with 3, in words or with --json as an object",
  { timeout: 60_000 },
  async () => {
    const url = "tcp://127.0.0.1:1";
    const message = `Cannot connect to ${url} as no environment answered (ECONNREFUSED): is it served there? --wait <seconds> waits longer`;
    expect(await envport(["connect", url, "--wait", "0"])).toEqual({
      code: 3,
      stdout: "",
      stderr: `envport: ${message}\n`,
    });
    const { code, stdout, stderr } = await envport(["connect", url, "--wait", "0", "--json"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(JSON.parse(stderr)).toEqual({ error: { code: "not-ready", message, exitCode: 3 } });
  },
);

test("a stack trace is shown with --verbose alone", { timeout: 60_000 }, async () => {
  const { stderr } = await envport(["connect", "tcp://127.0.0.1:1", "--wait", "0", "--verbose"]);
  expect(stderr).toMatch(/^ {4}at /m);
});

test("a url that cannot be read ends with 2", { timeout: 60_000 }, async () => {
  const { code, stderr } = await envport(["connect", "http://127.0.0.1:1"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^envport: Cannot .*scheme.*"http"\n$/);
});
