import { pipeline } from "node:stream/promises";
import type { RemoteProcess } from "@envport/ssh";
import type { Command } from "../_command.ts";
import { usage } from "../_failure.ts";
import { exitCodeOf } from "../_exit_code_of.ts";
import type { Invocation } from "../_invocation.ts";
import { CONNECT_OPTIONS } from "../_connect_options.ts";
import { servedTarget } from "../_target.ts";
import { hasTerminal, joinTerminal, terminalSize } from "../_terminal.ts";
import { ExitCode } from "../exit_code.ts";

/** What a shell says of a program that is not there. */
const NOT_FOUND = 127;

/** `envport exec` */
export const execCommand: Command = {
  path: "exec",
  summary: "Run a command in the sandbox",
  details:
    "The words behind -- reach the program as they are: for a pipe or a variable say bash -c '…'. Standard input, output and error are streamed, and the exit code is the command's own, 128 and the number of the signal that ended it, or 255 if it could not be run. SIGINT and SIGTERM are passed on.",
  arguments: [{ name: "url", summary: "Where the environment is served" }],
  rest: { name: "command", summary: "A program and its arguments" },
  options: [
    { name: "binding", short: "b", value: "name", summary: "Which ssh binding, where there are several" },
    { name: "cwd", value: "folder", summary: "The folder inside to run in [the workspace]" },
    {
      name: "env",
      short: "e",
      value: "name=value",
      repeat: true,
      summary: "A variable of the command; again for more",
    },
    { name: "tty", short: "t", summary: "Run it in a terminal" },
    { name: "no-stdin", short: "n", summary: "Leave standard input alone" },
    ...CONNECT_OPTIONS,
  ],
  examples: [
    ["exec 127.0.0.1:8765 -- ls -l", "One program"],
    ["exec 127.0.0.1:8765 -- bash -c 'cat > notes.txt' < notes.txt", "A script, with standard input"],
    ["exec -t 127.0.0.1:8765 -- vi notes.txt", "One that wants a terminal"],
  ],
  handlesSignals: true,
  failureExitCode: ExitCode.notRun,
  async run(invocation, context) {
    const wantsTerminal = invocation.flag("tty");
    if (wantsTerminal && !hasTerminal())
      throw usage("Cannot use --tty as standard input and output are no terminal");
    const [cwd, env] = [invocation.option("cwd"), readVariables(invocation)];
    await using client = await servedTarget(invocation.argument("url"), invocation, context).connect();
    const { ssh } = await import("@envport/ssh");
    const shell = await client.open(ssh, invocation.option("binding"));
    const pty = wantsTerminal && terminalSize();
    const remote = await shell.spawn(invocation.rest, { cwd, env, pty });
    if (wantsTerminal) return exitCodeOf(await joinTerminal(remote));
    const code = await stream(remote, !invocation.flag("no-stdin"));
    const [program = "", ...others] = invocation.rest;
    if (code === NOT_FOUND && others.length === 0 && /[\s|&;<>$]/.test(program)) {
      context.output.note(`(That is one word, the name of a program. For a script: -- bash -c '${program}')`);
    }
    return code;
  },
};

function readVariables(invocation: Invocation): Record<string, string> {
  const pairs = invocation.options("env").map((text) => {
    const [, name, value] = /^([A-Za-z_]\w*)=([^]*)$/.exec(text) ?? [];
    if (name === undefined)
      throw usage(`Cannot use --env as it must be name=value: current value is ${JSON.stringify(text)}`);
    return [name, value!] as const;
  });
  return Object.fromEntries(pairs);
}

/** Joins the streams of this process with those of a command until it ends. */
async function stream(remote: RemoteProcess, withInput: boolean): Promise<number> {
  const passOn = (name: NodeJS.Signals): void => remote.signal(name);
  process.on("SIGINT", passOn).on("SIGTERM", passOn);
  try {
    remote.stdin.on("error", () => undefined);
    if (withInput) process.stdin.on("error", () => remote.stdin.end()).pipe(remote.stdin);
    else remote.stdin.end();
    const [status] = await Promise.all([
      remote.exit,
      pipeline(remote.stdout, process.stdout, { end: false }),
      pipeline(remote.stderr, process.stderr, { end: false }),
    ]);
    return exitCodeOf(status);
  } finally {
    process.off("SIGINT", passOn).off("SIGTERM", passOn);
  }
}
