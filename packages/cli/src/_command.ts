import type { Invocation } from "./_invocation.ts";
import type { Output } from "./_output.ts";

/** What a value or an argument can be completed with by a shell. */
export interface Completable {
  /** The only words that make sense. */
  readonly words?: readonly string[] | undefined;
  /** Names of files or folders. */
  readonly files?: "file" | "folder" | undefined;
}

/** An option of a command; without `value` it is a switch. */
export interface OptionSpec extends Completable {
  /** Without its dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string | undefined;
  /** What help calls its value. */
  readonly value?: string | undefined;
  /** Whether it may be given again, to add. */
  readonly repeat?: boolean | undefined;
  readonly summary: string;
}

/** A word of a command that has its meaning by its place. */
export interface ArgumentSpec extends Completable {
  readonly name: string;
  readonly optional?: boolean | undefined;
  /** Whether it takes all words that are left. */
  readonly many?: boolean | undefined;
  readonly summary: string;
}

/** What a command gets to run with. */
export interface CommandContext {
  readonly output: Output;
  /** Aborts on SIGINT, SIGTERM and SIGHUP, unless the command handles them itself. */
  readonly signal: AbortSignal;
  /** Every command, for those that tell of them. */
  readonly commands: readonly Command[];
}

/** One command: what help, completion and dispatch know of it. */
export interface Command {
  /** Its words: `"task start"`. */
  readonly path: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** What more there is to know, for its own help. */
  readonly details?: string | undefined;
  readonly arguments: readonly ArgumentSpec[];
  /** What stands behind `--`, if something may. */
  readonly rest?: ArgumentSpec | undefined;
  readonly options: readonly OptionSpec[];
  /** Command lines without the leading `envport`, each with what it does. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  /** Whether it handles SIGINT and SIGTERM itself. */
  readonly handlesSignals?: boolean | undefined;
  /** What it ends with if it could not do its work, where that is not the failure's own code. */
  readonly failureExitCode?: number | undefined;
  /** Does it, and returns the exit code. */
  run(this: void, invocation: Invocation, context: CommandContext): Promise<number>;
}

/** The options that every command has. */
export const COMMON_OPTIONS: readonly OptionSpec[] = [
  { name: "json", summary: "Print JSON; errors too, as one line on standard error" },
  { name: "verbose", summary: "Show stack traces and more of the log" },
  { name: "help", short: "h", summary: "Show this help" },
];

/** Its own options and the common ones. */
export function optionsOf(command: Command): readonly OptionSpec[] {
  return [...command.options, ...COMMON_OPTIONS];
}
