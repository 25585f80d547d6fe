import { inspect } from "node:util";

/** Where a server says what its clients must not read: stack traces, addresses, reasons. */
export interface Logger {
  /**
   * Takes one entry.
   *
   * @param level How serious it is.
   * @param message What has happened, one sentence.
   * @param fields Its facts: session id, task id, the error.
   */
  log(level: LogLevel, message: string, fields?: Record<string, unknown>): void;
}

/** From chatty to serious. */
export type LogLevel = "debug" | "info" | "warn" | "error";

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Options of {@linkcode consoleLogger}. */
export interface ConsoleLoggerOptions {
  /**
   * Entries below it are dropped.
   *
   * @default {"warn"}
   */
  level?: LogLevel;
}

/**
 * A logger that writes lines to standard error; standard output belongs to the program.
 *
 * @param options What to drop.
 *
 * @example
 * ```ts
 * import { consoleLogger } from "@envport/wire";
 *
 * consoleLogger({ level: "info" }).log("info", "the environment is ready", { port: 8765 });
 * ```
 */
export function consoleLogger({ level = "warn" }: ConsoleLoggerOptions = {}): Logger {
  return {
    log(entryLevel, message, fields = {}) {
      if (LEVELS.indexOf(entryLevel) < LEVELS.indexOf(level)) return;
      const facts = Object.entries(fields).map(([key, value]) => ` ${key}=${format(value)}`);
      process.stderr.write(`envport ${entryLevel}: ${message}${facts.join("")}\n`);
    },
  };
}

function format(value: unknown): string {
  if (value instanceof Error) return value.stack ?? String(value);
  return typeof value === "string"
    ? JSON.stringify(value)
    : inspect(value, { breakLength: Infinity, compact: true });
}
