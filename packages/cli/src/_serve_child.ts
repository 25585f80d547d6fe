import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "./_failure.ts";
import { toChild } from "./_supervised.ts";
import type { FromChild, Listening } from "./_supervised.ts";

/** Longer than a server takes to stop. */
const STOP_MS = 15_000;

/** Options of {@linkcode ServeChild}. */
export interface ServeChildOptions {
  /** Words behind `envport serve`. */
  readonly words: readonly string[];
  /** Called with each file of the environment that is read. */
  readonly onFile?: ((file: string) => void) | undefined;
}

/**
 * `envport serve` in a process of its own, which ends with this one. It is out of reach of the terminal's Ctrl-C: who
 * started it stops it, once.
 */
export class ServeChild {
  /** Resolves once it listens. Rejects with `spawn-failed` if it ends before. */
  readonly ready: Promise<Listening>;
  /** Resolves to how it ended. */
  readonly exited: Promise<string>;
  readonly #child: ChildProcess;
  #stopping: Promise<void> | undefined;

  /** @param options What to serve. */
  constructor({ words, onFile }: ServeChildOptions) {
    const [, script = ""] = process.argv;
    this.#child = spawn(process.execPath, [...process.execArgv, script, "serve", ...words], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      env: toChild(process.env),
      detached: true,
    });
    this.exited = new Promise((resolve) => {
      this.#child.once("error", (error) => resolve(error.message));
      this.#child.once("exit", (code, signal) => resolve(signal ?? `exit code ${String(code)}`));
    });
    this.ready = new Promise((resolve, reject) => {
      this.#child.on("message", (message: FromChild) => {
        if (message.type === "file") onFile?.(message.file);
        else resolve(message);
      });
      void this.exited.then((how) => {
        reject(
          new Failure(
            "spawn-failed",
            `Cannot go on as the environment ended before it was served (${how}): its reason stands above`,
          ),
        );
      });
    });
    this.ready.catch(() => undefined);
  }

  /** Ends it in good order, or by force if that takes too long. Idempotent. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const late = new AbortController();
    const kill = sleep(STOP_MS, undefined, { signal: late.signal }).then(
      () => void this.#child.kill("SIGKILL"),
      () => undefined,
    );
    await this.exited;
    late.abort();
    await kill;
  }
}
