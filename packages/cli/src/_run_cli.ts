import type { Command } from "./_command.ts";
import type { Failure } from "./_failure.ts";
import { toFailure, usage } from "./_failure.ts";
import { commandHelp, generalHelp } from "./_help.ts";
import { Invocation } from "./_invocation.ts";
import { suggestion } from "./_nearest.ts";
import { Output } from "./_output.ts";
import { Signals } from "./_signals.ts";
import { version } from "./_version.ts";

/**
 * Runs one command line.
 *
 * @param words What stands behind the program's name.
 * @param commands What there is.
 * @returns The exit code.
 */
export async function runCli(words: readonly string[], commands: readonly Command[]): Promise<number> {
  const beforeRest = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
  const output = new Output({
    json: beforeRest.includes("--json"),
    verbose: beforeRest.includes("--verbose"),
  });
  let command: Command | undefined;
  const signals = new Signals();
  process.on("uncaughtException", (error) => {
    process.exit(report(toFailure(error), output));
  });
  try {
    const general = generalRequest(words, commands);
    if (general !== undefined) {
      output.line(general.trimEnd());
      return 0;
    }
    command = findCommand(words, commands);
    const invocation = new Invocation(command, words.slice(command.path.split(" ").length));
    if (invocation.flag("help")) {
      output.line(commandHelp(command).trimEnd());
      return 0;
    }
    if (!command.handlesSignals) signals.listen();
    return await command.run(invocation, { output, signal: signals.signal, commands });
  } catch (error) {
    if (signals.exitCode !== undefined) return signals.exitCode;
    const failure = toFailure(error);
    const code = report(failure, output);
    return failure.code === "usage" ? code : (command?.failureExitCode ?? code);
  } finally {
    signals.stop();
  }
}

/** `--help`, `--version` and `help <command>`, which are no commands. */
function generalRequest(words: readonly string[], commands: readonly Command[]): string | undefined {
  const [first, ...others] = words;
  if (first === undefined || first === "--help" || first === "-h") return generalHelp(commands);
  if (first === "--version" || first === "-V") return version();
  if (first !== "help") return undefined;
  return others.length === 0 ? generalHelp(commands) : commandHelp(findCommand(others, commands));
}

function findCommand(words: readonly string[], commands: readonly Command[]): Command {
  const found = commands.find(({ path }) => path.split(" ").every((word, index) => words[index] === word));
  if (found) return found;
  const [first = "", second] = words;
  const group = commands.map(({ path }) => path.split(" ")).filter(([word, sub]) => word === first && sub);
  if (group.length > 0) {
    const subs = group.map(([, sub]) => sub!);
    if (second === "--help" || second === "-h" || second === undefined) {
      throw usage(
        `Cannot run '${first}' as it needs one of ${subs.join(", ")}: for example, envport ${first} ${subs[0]!} --help`,
      );
    }
    throw usage(
      `Cannot run '${first} ${second}' as there is ${subs.join(", ")}${suggestion(second, subs, `${first} `)}`,
    );
  }
  const names = [...new Set(commands.map(({ path }) => path.split(" ")[0]!))];
  if (first.startsWith("-")) throw usage(`Cannot use ${first} as a command comes first: see envport --help`);
  const found2 = suggestion(first, names);
  throw usage(`Cannot run '${first}' as there is no such command${found2 || ": see envport --help"}`);
}

/** Says why, and returns the exit code. */
function report(failure: Failure, output: Output): number {
  const { code, message, exitCode } = failure;
  const cause = failure.cause ?? failure;
  const stack = output.verbose && cause instanceof Error ? cause.stack : undefined;
  const text = output.json
    ? JSON.stringify({ error: { code, message, exitCode, ...(stack === undefined ? {} : { stack }) } })
    : `envport: ${message}${stack === undefined ? "" : `\n${stack}`}`;
  process.stderr.write(`${text}\n`);
  return exitCode;
}
