import type { Client } from "@envport/client";
import type { SshClient } from "@envport/ssh";
import { ssh } from "@envport/ssh";
import type { Journal } from "../journal.ts";

/** Slips that programmers make, and what was meant instead; each is tried at each place where it occurs. */
const REPAIRS: readonly [slip: RegExp, meant: string][] = [
  [/ < /g, " <= "],
  [/ <= /g, " < "],
  [/ > /g, " >= "],
  [/ >= /g, " > "],
  [/ === /g, " !== "],
  [/ && /g, " || "],
  [/ \|\| /g, " && "],
  [/ \+ /g, " - "],
  [/ - /g, " + "],
  [/\bmin\(/g, "max("],
  [/\bmax\(/g, "min("],
];

/** Runs a command in the project's folder. */
type Shell = (command: string, input?: string) => ReturnType<SshClient["run"]>;

/**
 * An agent without a model: it runs the tests, and where one fails it tries small changes to the program, one at a time,
 * until all of them pass. It sees and changes the project only through the shell.
 *
 * @param client A connection whose session has started the task.
 * @param prompt Names the project's folder.
 * @param journal Told what is done.
 * @returns The answer: what was changed.
 * @throws {Error} If no single change makes the tests pass.
 */
export async function solveRepair(client: Client, prompt: string, journal: Journal): Promise<string> {
  const remote = await client.open(ssh);
  const [folder] = /\/workspace\/[\w-]+/.exec(prompt) ?? [];
  if (!folder) throw new Error("the prompt names no folder");
  const shell: Shell = (command, input) =>
    journal.step(
      `$ ${command}`,
      () => remote.run(`cd ${folder} && ${command}`, { input, timeout: 30_000 }),
      ({ stdout, stderr, exitCode }) => `${stdout}${stderr}exit code ${String(exitCode)}`,
    );
  const tests = (await shell("ls test/*.test.js")).stdout.trim().split("\n");
  const failing = [];
  for (const test of tests) if (!(await passes(shell, test))) failing.push(test);
  for (const file of (await shell("ls src/*.js")).stdout.trim().split("\n")) {
    const source = (await shell(`cat ${file}`)).stdout;
    for (const candidate of candidates(source)) {
      await write(shell, file, candidate.text);
      if ((await passes(shell, ...failing)) && (await passes(shell, ...tests))) {
        return `${file}, line ${String(candidate.line)}: ${candidate.change}`;
      }
    }
    await write(shell, file, source);
  }
  throw new Error("no single change makes the tests pass");
}

interface Candidate {
  text: string;
  line: number;
  change: string;
}

/** The source with one slip undone, for each slip and place; comments are left alone. */
function* candidates(source: string): Generator<Candidate> {
  for (const [slip, meant] of REPAIRS) {
    for (const { 0: found, index } of source.matchAll(slip)) {
      const before = source.slice(0, index);
      if (/(?:\/\/|\*).*$/.test(before.slice(before.lastIndexOf("\n") + 1))) continue;
      yield {
        text: `${before}${meant}${source.slice(index + found.length)}`,
        line: before.split("\n").length,
        change: `'${found.trim()}' became '${meant.trim()}'`,
      };
    }
  }
}

async function passes(shell: Shell, ...tests: string[]): Promise<boolean> {
  return (await shell(`node --test ${tests.join(" ")}`)).exitCode === 0;
}

async function write(shell: Shell, file: string, text: string): Promise<void> {
  const { exitCode, stderr } = await shell(`cat > ${file}`, text);
  if (exitCode !== 0) throw new Error(`${file} could not be written: ${stderr}`);
}
