import type { TerminalSize } from "@envport/sandbox";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import type { Readable } from "node:stream";

/** By which a terminal tells that its first size is set. */
const READY_FD = 3;

/** `script` gives a command a terminal without native code. */
export function terminalArgv(argv: readonly string[], { rows, cols }: TerminalSize): string[] {
  const quoted = argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const ready = `echo >&${String(READY_FD)}; exec ${String(READY_FD)}>&-`;
  const script = `stty rows ${String(rows)} cols ${String(cols)}; ${ready}; exec ${quoted}`;
  return ["script", "-qefc", script, "/dev/null"];
}

/** The terminal of a command that was started with {@linkcode terminalArgv}. */
export class HostTerminal {
  readonly #script: ChildProcess;
  #ready = false;
  #busy = false;
  #size: TerminalSize | undefined;

  /** @param script The process of `script`, with a pipe as its descriptor 3. */
  constructor(script: ChildProcess) {
    this.#script = script;
    const ready = (script.stdio as readonly unknown[])[READY_FD] as Readable;
    ready.on("error", () => undefined);
    ready.once("data", () => {
      this.#ready = true;
      ready.destroy();
      this.#apply();
    });
  }

  /** Takes a size; of several at once the last one counts. */
  resize(size: TerminalSize): void {
    this.#size = size;
    this.#apply();
  }

  #apply(): void {
    const size = this.#size;
    if (!this.#ready || this.#busy || size === undefined) return;
    this.#size = undefined;
    const device = this.#device();
    if (device === undefined) return;
    this.#busy = true;
    const done = (): void => {
      this.#busy = false;
      this.#apply();
    };
    const words = ["-F", device, "rows", String(size.rows), "cols", String(size.cols)];
    spawn("stty", words, { stdio: "ignore" }).once("error", done).once("exit", done);
  }

  /** What the process that `script` runs has as its input; undefined where it has ended, or nothing tells. */
  #device(): string | undefined {
    const { pid } = this.#script;
    try {
      const children = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, "utf8");
      const device = readlinkSync(`/proc/${children.split(" ")[0]!}/fd/0`);
      return device.startsWith("/dev/pts/") ? device : undefined;
    } catch {
      return undefined;
    }
  }
}
