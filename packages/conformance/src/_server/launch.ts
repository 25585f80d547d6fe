import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { BenchError } from "../bench_error.ts";
import { atMost } from "../_patience.ts";
import type { Address } from "../_raw_connection.ts";

/** Starts a server and waits until it has announced its port. */
export type Launch = () => Promise<LaunchedServer>;

/** How long a server may take until it has announced its port, in milliseconds. */
const START_MS = 60_000;
/** How long a server that was told to stop may take, in milliseconds; its own grace is 10 s. */
const STOP_MS = 30_000;

/** A server that the bench has started: a process that announces its port. */
export class LaunchedServer {
  readonly address: Address;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #exit: Promise<number | string>;
  readonly #errors: () => string;

  private constructor(child: ChildProcess, port: number, folder: string, errors: () => string) {
    this.#child = child;
    this.#folder = folder;
    this.#errors = errors;
    this.address = { host: "127.0.0.1", port };
    this.#exit = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | string);
  }

  /**
   * Starts a command.
   *
   * @param command The program and its words.
   * @throws {BenchError} If it cannot be started or does not announce a port.
   */
  static async start([program, ...words]: readonly string[]): Promise<LaunchedServer> {
    const folder = await mkdtemp(path.join(os.tmpdir(), "conformance-"));
    const env = { ...process.env, CONFORMANCE_LEDGER: path.join(folder, "ledger") };
    const child = spawn(program!, words, { env, stdio: ["ignore", "pipe", "pipe"] });
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-MAX_ERROR_TEXT)));
    try {
      return new LaunchedServer(child, await announcedPort(child, () => errors), folder, () => errors);
    } catch (error) {
      child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * How it has ended by itself, and its last words; undefined while it runs.
   *
   * @param wait How long it may take until that is known, in milliseconds.
   */
  async ending(wait: number = NOTICE_MS): Promise<string | undefined> {
    const how = await atMost(this.#exit, wait);
    if (how === undefined) return undefined;
    const words = this.#errors().trim();
    const told = typeof how === "number" ? `code ${String(how)}` : how;
    return `the server had ended with ${told}${words === "" ? "" : `: ${words}`}`;
  }

  /** Lines that the fixture has written where CONFORMANCE_LEDGER says: a label and an event each. */
  async ledger(): Promise<string[]> {
    const text = await readFile(path.join(this.#folder, "ledger"), "utf8").catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }

  /**
   * Asks the server to stop (SIGTERM).
   *
   * @returns Its exit code, the signal that ended it, or undefined if it is still there when patience is over.
   */
  async stop(): Promise<number | string | undefined> {
    this.#child.kill("SIGTERM");
    return await atMost(this.#exit, STOP_MS);
  }

  /** Ends it, asked or not, and removes its folder. */
  async end(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.stop();
    this.#child.kill("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const MAX_ERROR_TEXT = 2_000;
/** How long it may take to notice that a process has ended, in milliseconds. */
const NOTICE_MS = 300;

async function announcedPort(child: ChildProcess, errors: () => string): Promise<number> {
  const failed = new Promise<never>((_, reject) => {
    child.once("error", (error) => {
      reject(new BenchError(`Cannot start the server: ${error.message}`));
    });
    child.once("exit", (code, signal) => {
      const how = code === null ? String(signal) : `code ${String(code)}`;
      reject(
        new BenchError(
          `Cannot use the server as it ended with ${how} before it announced a port\n${errors()}`,
        ),
      );
    });
  });
  failed.catch(() => {
    // An end after the announcement is no failure to start.
  });
  const announced = (async () => {
    for await (const line of createInterface({ input: child.stdout! })) {
      const port = /^HUD_SERVE_PORT=(\d+)\s*$/.exec(line)?.[1];
      if (port !== undefined) return Number(port);
    }
    return await failed;
  })();
  const port = await atMost(Promise.race([announced, failed]), START_MS);
  child.stdout?.resume();
  if (port === undefined) {
    throw new BenchError(
      `Cannot use the server as it printed no line HUD_SERVE_PORT=<port> within ${String(START_MS / 1000)} s\n${errors()}`,
    );
  }
  return port;
}
