import type { Readable, Writable } from "node:stream";

/** What to run in a sandbox. */
export interface SandboxCommand {
  /** The program, looked up in the environment's `PATH`, and its arguments. */
  readonly argv: readonly string[];
  /** Variables on top of the sandbox's own; nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * The folder inside to run in.
   *
   * @default {guestPath}
   */
  readonly cwd?: string | undefined;
  /** Gives the command a terminal of this size. */
  readonly pty?: (TerminalSize & { readonly term?: string | undefined }) | undefined;
}

/** The size of a terminal in characters. */
export interface TerminalSize {
  readonly rows: number;
  readonly cols: number;
}

/** How a process ended: with a code or by a signal. On a terminal a signal is the code 128 + its number. */
export interface SandboxExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The limit that ended the process, if one did. */
  readonly limit?: "wallTime" | "output" | undefined;
}

/** A process in a sandbox. */
export interface SandboxProcess {
  /** Its number inside the sandbox. */
  readonly pid: number;
  /** Its standard input; `end()` it where the program reads to the end. Writing to a process that is gone is dropped. */
  readonly stdin: Writable;
  /**
   * Its output, or that of its terminal. It ends after the last byte that was written before the process exited, also
   * when background processes hold the pipe open. Destroying it before closes the pipe.
   */
  readonly stdout: Readable;
  /** Its errors; undefined with a terminal, which mixes both. */
  readonly stderr: Readable | undefined;
  /** Resolves when the process has exited, whether or not its output has been read; never rejects. */
  readonly exit: Promise<SandboxExit>;
  /** Sends a signal to its process group, or to what is in the foreground of its terminal's first group. */
  signal(name: NodeJS.Signals): void;
  /** Sends SIGHUP to its process group, and SIGKILL 2 s later. */
  kill(): void;
  /** Changes the size of its terminal; without one it does nothing. */
  resize(size: TerminalSize): void;
}
