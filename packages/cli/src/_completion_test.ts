import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { COMMANDS } from "./_commands.ts";
import { completionScript } from "./_completion.ts";
import { envport, project } from "./_testing.ts";

const script = completionScript("bash", COMMANDS);
let folder: string;

/** What a real bash offers for words, the last one being completed. */
function complete(...words: string[]): string[] {
  const program = `${script}
COMP_WORDS=(envport ${words.map((word) => `'${word}'`).join(" ")}) COMP_CWORD=${String(words.length)}
_envport 2>/dev/null
(( \${#COMPREPLY[@]} )) && printf '%s\\n' "\${COMPREPLY[@]}"; true`;
  const { stdout, stderr, status } = spawnSync("bash", ["--norc", "-c", program], {
    cwd: folder,
    encoding: "utf8",
  });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return stdout.split("\n").filter((line) => line !== "");
}

beforeAll(() => {
  expect(complete("")).toContain("serve");
});

test("bash completes commands, and those of a group", () => {
  expect(complete("")).toEqual([
    "init",
    "serve",
    "task",
    "run",
    "connect",
    "open",
    "forward",
    "exec",
    "completion",
    "help",
    "--help",
    "--version",
  ]);
  expect(complete("co")).toEqual(["connect", "completion"]);
  expect(complete("task", "")).toEqual(["list", "start", "grade"]);
  expect(complete("task", "g")).toEqual(["grade"]);
});

test("bash completes options of the command at hand", () => {
  expect(complete("completion", "--")).toEqual(["--json", "--verbose", "--help"]);
  expect(complete("serve", "--t")).toEqual(["--token-file", "--tls-cert", "--tls-key", "--tls-ca"]);
  expect(complete("task", "grade", "--answer")).toEqual(["--answer", "--answer-file"]);
  expect(complete("completion", "")).toEqual(["bash", "zsh", "fish"]);
  expect(complete("init", "--with", "s")).toEqual(["ssh"]);
});

test("bash completes files with blanks in their names where a file is meant, folders where a folder is", () => {
  folder = project();
  writeFileSync(path.join(folder, "my env.ts"), "");
  mkdirSync(path.join(folder, "my folder"));
  expect(complete("serve", "my").sort()).toEqual(["my env.ts", "my folder"]);
  expect(complete("run", "fix", "--agent", "my").sort()).toEqual(["my env.ts", "my folder"]);
  expect(complete("init", "my")).toEqual(["my folder"]);
  expect(complete("connect", "my")).toEqual([]);
});

test("bash completes nothing of ours behind --", () => {
  folder = project();
  expect(complete("exec", "127.0.0.1:8765", "--", "--j")).toEqual([]);
});

test("the command prints the scripts, and bash can source one", { timeout: 60_000 }, async () => {
  const { code, stdout } = await envport(["completion", "bash"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: script });
  const { stdout: shown } = spawnSync("bash", ["--norc", "-c", `${script}\ncomplete -p envport`], {
    encoding: "utf8",
  });
  expect(shown).toBe("complete -F _envport envport\n");
  const other = await envport(["completion", "tcsh"]);
  expect(other).toMatchObject({
    code: 2,
    stderr: 'envport: Cannot complete in "tcsh" as it must be bash, zsh, fish\n',
  });
});
