import { spawn } from "node:child_process";
import { once } from "node:events";
import type { EventEmitter } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { JsonObject } from "@envport/wire";
import { isJsonObject } from "@envport/wire";
import type { Mismatch } from "../_mismatch.ts";
import { atMost } from "../_patience.ts";
import { BenchError } from "../bench_error.ts";

/** What became of a step. */
export type Outcome =
  | { readonly ok: JsonObject }
  | { readonly error: { readonly message: string; readonly code?: unknown } }
  | { readonly unsupported: true }
  | { readonly gone: string };

/** The part of a child process that is used; `close` tells code and signal. */
export interface ClientChild extends EventEmitter {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  kill(signal: "SIGKILL"): unknown;
}

/** Starts a client that is told a url. */
export type StartClient = (url: string) => ClientChild;

/**
 * Starts a program, which is told the url in the environment variable `CONFORMANCE_URL`.
 *
 * @param command The program and its words.
 */
export function spawnClient([program, ...words]: readonly string[]): StartClient {
  return (url) => {
    const env = { ...process.env, CONFORMANCE_URL: url };
    return spawn(program!, words, { env, stdio: ["pipe", "pipe", "pipe"] });
  };
}

/** How long a client may take to end once its standard input has, in milliseconds. */
const END_MS = 3_000;
const MAX_ERROR_TEXT = 2_000;

/** A client under test: a process that is told steps on its standard input and tells what became of them. */
export class ClientProcess {
  /** Events that it has told, oldest first. */
  readonly events: JsonObject[] = [];
  /** Steps that are over, in the order in which it told so. */
  readonly over: number[] = [];
  readonly #child: ClientChild;
  readonly #waiting = new Map<number, (outcome: Outcome) => void>();
  #steps = 0;
  #errors = "";
  #gone: string | undefined;

  /** @param child The process, just started. */
  constructor(child: ClientChild) {
    this.#child = child;
    child.stdin.on("error", () => {
      // It has gone; its end tells.
    });
    child.stderr.on("data", (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-MAX_ERROR_TEXT);
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.#read(line);
    });
    child.once("error", (error: Error) => {
      this.#end(`it cannot be started: ${error.message}`);
    });
    child.once("close", (code: number | null, signal: string | null) => {
      this.#end(
        `the client ended with ${code === null ? String(signal) : `code ${String(code)}`}: ${this.#errors.trim()}`,
      );
    });
  }

  /**
   * Tells a step to the client.
   *
   * @param name What to do.
   * @param params With what.
   * @returns Its number, and what becomes of it; the promise never rejects.
   */
  step(name: string, params: JsonObject = {}): { step: number; outcome: Promise<Outcome> } {
    const step = ++this.#steps;
    const outcome = new Promise<Outcome>((resolve) => {
      if (this.#gone === undefined) this.#waiting.set(step, resolve);
      else resolve({ gone: this.#gone });
    });
    this.#child.stdin.write(`${JSON.stringify({ step, do: name, ...params })}\n`);
    return { step, outcome };
  }

  /** Forgets what it has told so far. */
  forget(): void {
    this.events.length = 0;
    this.over.length = 0;
  }

  /** Ends the client's standard input, and the client if it does not end then. */
  async end(): Promise<void> {
    const exit = once(this.#child, "close").catch(() => undefined);
    this.#child.stdin.end();
    if (this.#gone === undefined) await atMost(exit, END_MS);
    this.#child.kill("SIGKILL");
  }

  #read(line: string): void {
    let told: unknown;
    try {
      told = JSON.parse(line);
    } catch {
      return;
    }
    if (!isJsonObject(told)) return;
    const { step, ...outcome } = told;
    if (typeof step !== "number") {
      this.events.push(told);
      return;
    }
    this.over.push(step);
    this.#waiting.get(step)?.(outcome as unknown as Outcome);
    this.#waiting.delete(step);
  }

  #end(why: string): void {
    this.#gone ??= why;
    for (const resolve of this.#waiting.values()) resolve({ gone: this.#gone });
    this.#waiting.clear();
  }
}

/**
 * What the author is told of a client that does not even connect.
 *
 * @param mismatch What it did instead.
 */
export function unusable({ parts: { expected, got } }: Mismatch): BenchError {
  return new BenchError(
    `Cannot test the client as it does not do the step {"step":1,"do":"connect"}: expected ${expected}; got ${got}\nThe README says what a client under test must do`,
  );
}
