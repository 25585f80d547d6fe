import { EnvportError } from "@envport/wire";
import { quoteCommand, quoteWord } from "./_shell_quote.ts";

/** What shapes a command before it is sent. */
export interface RemoteCommandOptions {
  cwd?: string | undefined;
  env?: Readonly<Record<string, string>> | undefined;
}

/** A command as it goes over the wire. */
export interface RemoteCommand {
  /** What the exec request carries. */
  readonly line: string;
  /** What has to go ahead of the caller's own standard input. */
  readonly head: Buffer | undefined;
}

/**
 * An exec request is one packet, and servers made with `ssh2` end the connection at a packet over 35,000 bytes. A longer
 * command is read by the shell from the start of its standard input, which also frees it of the kernel's 128 KiB limit.
 */
const MAX_LINE_BYTES = 30_000;

const VARIABLE = /^[A-Za-z_]\w*$/;

/**
 * Puts a command into the form that the server's shell runs. Folder and variables become part of the script: a stock
 * OpenSSH server drops the variables that its configuration does not name, without a word.
 *
 * @param command A shell script, or a program and its arguments.
 * @param options Folder and variables.
 * @param shell The kind of shell that the binding names.
 * @throws {TypeError} If the command is empty or holds a NUL, or a variable's name is not one.
 * @throws {EnvportError} `unsupported` If the shell is no POSIX shell and the command needs one.
 */
export function remoteCommand(
  command: string | readonly string[],
  options: RemoteCommandOptions,
  shell: string,
): RemoteCommand {
  const posix = shell !== "cmd" && shell !== "powershell";
  if (!posix && (typeof command !== "string" || options.cwd !== undefined || options.env !== undefined)) {
    throw new EnvportError(
      "unsupported",
      `Cannot quote command as the server's shell must be a POSIX shell: current value is '${shell}'`,
    );
  }
  const script = prefix(options) + (typeof command === "string" ? command : quoteCommand(command));
  if (script === "" || script.includes("\0")) {
    throw new TypeError(
      `Cannot run command as it must be text without NUL: current value is ${JSON.stringify(script)}`,
    );
  }
  const bytes = Buffer.byteLength(script);
  if (bytes <= MAX_LINE_BYTES || !posix) return { line: script, head: undefined };
  return { line: `eval "$(head -c ${String(bytes)})"`, head: Buffer.from(script) };
}

/** The lines that go before the command: `cd` and `export`. */
function prefix({ cwd, env = {} }: RemoteCommandOptions): string {
  const lines = cwd === undefined ? [] : [`cd -- ${quoteWord(cwd)} || exit\n`];
  for (const [name, value] of Object.entries(env)) {
    if (!VARIABLE.test(name)) {
      throw new TypeError(
        `Cannot set variable as its name must be letters, digits and '_': current value is '${name}'`,
      );
    }
    lines.push(`export ${name}=${quoteWord(value)}\n`);
  }
  return lines.join("");
}
