import { writeFileSync } from "node:fs";
import { inspect } from "node:util";
import type { LogLevel, Logger } from "@envport/wire";
import { messageOf, usage } from "./_failure.ts";
import { withPlace } from "./_place_of.ts";

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Options of {@linkcode Output}. */
export interface OutputOptions {
  json: boolean;
  verbose: boolean;
}

/**
 * Where a command writes. Results go to standard output, everything said besides to standard error; with `--json` both
 * are JSON.
 */
export class Output implements Logger {
  readonly json: boolean;
  readonly verbose: boolean;
  #write: (text: string) => void = (text) => void process.stdout.write(text);

  /** @param options How. */
  constructor({ json, verbose }: OutputOptions) {
    this.json = json;
    this.verbose = verbose;
  }

  /** Whether a person reads standard output. */
  get isTerminal(): boolean {
    return process.stdout.isTTY && !this.json;
  }

  /** Prints a result, as text or with `--json` as one line of JSON. */
  result(text: string, value: unknown): void {
    this.line(this.json ? JSON.stringify(value) : text);
  }

  /** The same, to a file if there is one. */
  resultTo(file: string | undefined, text: string, value: unknown): void {
    if (file === undefined) {
      this.result(text, value);
      return;
    }
    try {
      writeFileSync(file, `${this.json ? JSON.stringify(value) : text}\n`);
    } catch (error) {
      throw usage(
        `Cannot write --out ${JSON.stringify(file)}: ${(error as NodeJS.ErrnoException).code ?? messageOf(error)}`,
      );
    }
  }

  /** Prints one line on standard output. */
  line(text: string): void {
    this.#write(`${text}\n`);
  }

  /** Says something to a person; silent with `--json`. */
  note(text: string): void {
    if (!this.json) process.stderr.write(`${text}\n`);
  }

  /** What servers and clients report. Stack traces only with `--verbose`. */
  log(level: LogLevel, message: string, fields: Record<string, unknown> = {}): void {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(this.verbose ? "debug" : "warn")) return;
    const shown = Object.entries(fields).map(([key, value]) => [key, this.#field(value)] as const);
    const text = this.json
      ? JSON.stringify({ level, message, ...Object.fromEntries(shown) })
      : `envport ${level}: ${message}${shown.map(([key, value]) => ` ${key}=${value}`).join("")}`;
    process.stderr.write(`${text}\n`);
  }

  #field(value: unknown): string {
    if (value instanceof Error)
      return this.verbose
        ? (value.stack ?? String(value))
        : withPlace(messageOf(value), value, process.cwd());
    return typeof value === "string" ? value : inspect(value, { breakLength: Infinity, compact: true });
  }

  /** From here on, what modules of users print goes to standard error: standard output has a meaning. */
  claimStdout(): void {
    const { stdout, stderr } = process;
    const write = stdout.write.bind(stdout);
    this.#write = (text) => void write(text);
    Object.assign(stdout, { write: stderr.write.bind(stderr) });
  }
}
