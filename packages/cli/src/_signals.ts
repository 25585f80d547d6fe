import { ExitCode } from "./exit_code.ts";

/** SIGHUP is a terminal that was closed. */
const NAMES = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The signals that ask a command to end, as an abort signal: the first one lets a command clean up, the second one ends it at once. */
export class Signals {
  /** What the process ends with once a signal has come. */
  exitCode: number | undefined;
  readonly #controller = new AbortController();

  /** Aborts when the first signal comes. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  listen(): void {
    for (const name of NAMES) process.on(name, this.#onSignal);
  }

  stop(): void {
    for (const name of NAMES) process.off(name, this.#onSignal);
  }

  readonly #onSignal = (name: NodeJS.Signals): void => {
    const code = name === "SIGINT" ? ExitCode.interrupted : ExitCode.terminated;
    if (this.exitCode !== undefined) process.exit(code);
    this.exitCode = code;
    this.#controller.abort(new Error(`ended by ${name}`));
  };
}
