import { closeSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { PipeReader } from "./_pipe_reader.ts";
import type { Slot } from "./_slots.ts";
import type { SandboxExit, SandboxProcess, TerminalSize } from "./sandbox_process.ts";

/** What a process may use. */
export interface ProcessLimits {
  readonly wallTime?: number | undefined;
  readonly output?: number | undefined;
}

/** Options of {@linkcode PipedProcess}. */
export interface PipedProcessOptions {
  readonly pid: number;
  readonly slot: Slot;
  readonly terminal: boolean;
  readonly limits: ProcessLimits;
  /** Tells the spawn server. */
  readonly order: (order: { op: string } & Record<string, unknown>) => void;
  /** Called where the process does not end although it was killed. */
  readonly overdue: () => void;
}

/** After SIGHUP, the 2 s to SIGKILL, and some: then the spawn server is not doing what it is told. */
const KILL_TIMEOUT_MS = 7000;

/** The host's view of a process: its pipes, and orders about it. */
export class PipedProcess implements SandboxProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: PipeReader;
  readonly stderr: PipeReader | undefined;
  readonly exit: Promise<SandboxExit>;
  readonly #order: PipedProcessOptions["order"];
  readonly #overdue: () => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #resolveExit!: (exit: SandboxExit) => void;
  #outputLeft: number;
  #limit: SandboxExit["limit"];
  #ended = false;

  constructor({ pid, slot, terminal, limits, order, overdue }: PipedProcessOptions) {
    this.pid = pid;
    this.#order = order;
    this.#overdue = overdue;
    this.#outputLeft = limits.output ?? Infinity;
    this.exit = new Promise((resolve) => (this.#resolveExit = resolve));
    const count = (bytes: number): void => this.#count(bytes);
    const stdin = new Socket({ fd: slot.to, readable: false, writable: true });
    stdin.on("error", () => {});
    this.stdin = stdin;
    this.stdout = new PipeReader(slot.from, count);
    if (terminal) closeSync(slot.errors);
    this.stderr = terminal ? undefined : new PipeReader(slot.errors, count);
    if (limits.wallTime !== undefined) this.#after(limits.wallTime, () => this.#exceed("wallTime"));
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#ended) this.#order({ op: "signal", signal: name });
  }

  kill(): void {
    if (this.#ended) return;
    this.#order({ op: "kill" });
    this.#after(KILL_TIMEOUT_MS, this.#overdue);
  }

  resize({ rows, cols }: TerminalSize): void {
    if (!this.#ended) this.#order({ op: "resize", rows: dimension(rows), cols: dimension(cols) });
  }

  /** The process has exited, or its sandbox has. */
  finish(exit: SandboxExit): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timers.forEach(clearTimeout);
    this.stdin.destroy();
    this.stdout.finish();
    this.stderr?.finish();
    this.#resolveExit(this.#limit === undefined ? exit : { ...exit, limit: this.#limit });
  }

  /** Whether background processes may still hold its output open. */
  get lingers(): boolean {
    return this.stdout.isOpen || this.stderr?.isOpen === true;
  }

  /** Closes its output whatever still writes to it. */
  close(): void {
    this.stdout.close();
    this.stderr?.close();
  }

  #after(ms: number, act: () => void): void {
    this.#timers.push(setTimeout(act, ms));
  }

  #count(bytes: number): void {
    this.#outputLeft -= bytes;
    if (this.#outputLeft < 0) this.#exceed("output");
  }

  #exceed(limit: "wallTime" | "output"): void {
    if (this.#limit !== undefined) return;
    this.#limit = limit;
    this.kill();
  }
}

/** Terminals have 1 to 65535 rows and columns; what clients send is brought into that range. */
export function dimension(value: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(Math.trunc(value), 1), 65_535) : 1;
}
