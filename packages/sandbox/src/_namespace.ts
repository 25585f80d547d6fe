import type { ChildProcess } from "node:child_process";
import { closeSync, readFileSync } from "node:fs";
import type { Duplex, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Launched } from "./_launch.ts";
import { PipedProcess, dimension } from "./_process.ts";
import type { ProcessLimits } from "./_process.ts";
import { readReports } from "./_reports.ts";
import type { Report } from "./_reports.ts";
import { SlotPool, closeSlot, openSlot } from "./_slots.ts";
import type { Slot } from "./_slots.ts";
import { SlotStream } from "./_slot_stream.ts";
import type { SandboxEnd } from "./sandbox_end.ts";
import { SandboxError } from "./sandbox_error.ts";
import type { SandboxProcess } from "./sandbox_process.ts";

/** More free slots than this mean that something else than our spawn server speaks. */
const MAX_FREE_SLOTS = 128;
/** Connections of the sandbox to the host's services at a time. */
const MAX_INCOMING = 256;
/** Ended processes whose output background processes hold open; the oldest are closed. */
const MAX_LINGERING = 256;
/** Orders that the spawn server has not read; more mean that it does not read. */
const MAX_ORDER_BYTES = 64 * 2 ** 20;
/** How long the spawn server may take to start a process: it may be stopped, or the sandbox out of processes. */
const ANSWER_TIMEOUT_MS = 30_000;
/** How long the kernel may take to end a namespace's processes. */
const END_TIMEOUT_MS = 10_000;

/** What a process is started with; everything is decided. */
export interface StartOrder {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly pty?: { readonly rows: number; readonly cols: number } | undefined;
  readonly limits: ProcessLimits;
}

/** Someone who waits for the outcome of an order. */
interface Pending {
  started(pid: number): void;
  failed(code: string, error: string): void;
}

/** One life of a sandbox: from bubblewrap's start to its end. */
export class Namespace {
  /** Resolves once nothing of the namespace runs any more; never rejects. */
  readonly ended: Promise<SandboxEnd>;
  readonly #child: ChildProcess;
  readonly #orders: Writable;
  readonly #launched: Launched;
  readonly #release: () => Promise<void>;
  readonly #answerTimeout: number;
  readonly #slots = new SlotPool();
  readonly #pending = new Map<number, Pending>();
  readonly #processes = new Map<number, PipedProcess>();
  readonly #streams = new Map<number | string, SlotStream>();
  readonly #listeners = new Map<
    string,
    { opened: () => void; failed: (error: Error) => void; accept: (stream: Duplex) => void }
  >();
  #lingering: PipedProcess[] = [];
  #nextId = 0;
  #end: SandboxEnd | undefined;

  /**
   * @param launched A sandbox whose spawn server is up.
   * @param release Called once nothing of it runs any more.
   * @param answerTimeout After how many milliseconds a spawn server that does not answer loses the namespace.
   */
  constructor(launched: Launched, release: () => Promise<void>, answerTimeout: number = ANSWER_TIMEOUT_MS) {
    this.#answerTimeout = answerTimeout;
    this.#launched = launched;
    this.#release = release;
    this.#child = launched.child;
    this.#orders = launched.orders;
    readReports(
      launched.reports,
      (report) => this.#heed(report),
      () => this.#die("the spawn server broke its protocol"),
    );
    void launched.road?.closed.then((why) => this.#die(`its way to public hosts is gone: ${why}`));
    this.ended = this.#watch();
  }

  /** Whether new processes can be started. */
  get alive(): boolean {
    return this.#end === undefined;
  }

  /** @throws {SandboxError} If the program cannot be started (`spawn-failed`) or the namespace ends (`died`, `stopped`). */
  async spawn(order: StartOrder): Promise<SandboxProcess> {
    const answered = deadline(this.#answerTimeout, () => this.#die("its spawn server does not answer"));
    try {
      return await this.#spawn(order);
    } finally {
      answered();
    }
  }

  async #spawn({ argv, env, cwd, pty, limits }: StartOrder): Promise<SandboxProcess> {
    const slot = await this.#slots.take();
    const id = this.#nextId++;
    const order = {
      op: "start",
      argv,
      env,
      cwd,
      ...(pty && { pty: { rows: dimension(pty.rows), cols: dimension(pty.cols) } }),
    };
    return this.#ask(id, slot, order, {
      started: (pid) => {
        const process = new PipedProcess({
          pid,
          slot,
          terminal: pty !== undefined,
          limits,
          order: (order) => this.#order({ ...order, id }),
          overdue: () => this.#die("a process could not be killed"),
        });
        this.#processes.set(id, process);
        return process;
      },
      failed: (code, error) => spawnError(argv[0]!, cwd, code, error),
    });
  }

  /** @throws {SandboxError} If nothing accepts (`connect-failed`) or the namespace ends (`died`, `stopped`). */
  async connect(port: number): Promise<Duplex> {
    const slot = await this.#slots.take();
    const id = this.#nextId++;
    return this.#ask(
      id,
      slot,
      { op: "connect", port },
      {
        started: () => this.#open(id, slot),
        failed: (_, error) =>
          new SandboxError(
            "connect-failed",
            `Cannot connect as nothing accepts on the sandbox's port ${String(port)}: ${error}`,
          ),
      },
    );
  }

  /** Lets processes inside connect to a loopback port, and hands their connections over. */
  listen(name: string, port: number, accept: (stream: Duplex) => void): Promise<void> {
    return new Promise((opened, failed) => {
      this.#listeners.set(name, { opened, failed, accept });
      this.#order({ op: "listen", name, port });
    });
  }

  /** Kills everything in it and waits until it is gone. */
  async stop(): Promise<void> {
    this.#finish({ reason: "stopped", detail: "it was stopped" });
    await this.ended;
  }

  /** Sends an order that takes a slot, and waits for what comes of it. */
  #ask<T>(
    id: number,
    slot: Slot,
    order: { op: string } & Record<string, unknown>,
    on: { started: (pid: number) => T; failed: (code: string, error: string) => Error },
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#pending.set(id, {
        started: (pid) => resolve(on.started(pid)),
        failed: (code, error) => {
          closeSlot(slot);
          reject(this.#end === undefined ? on.failed(code, error) : endError(this.#end));
        },
      });
      if (this.#end !== undefined) return this.#settle(id)?.failed("", "");
      this.#order({ ...order, id, slot: slot.id });
    });
  }

  #order(order: { op: string } & Record<string, unknown>): void {
    if (this.#end !== undefined) return;
    this.#orders.write(`${JSON.stringify(order)}\n`);
    if (this.#orders.writableLength > MAX_ORDER_BYTES) this.#die("the spawn server reads no orders");
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #open(id: number | string, slot: Slot): SlotStream {
    const stream = new SlotStream(slot);
    this.#streams.set(id, stream);
    stream.once("close", () => this.#streams.delete(id));
    return stream;
  }

  /** Acts on a report; one about something unknown is ignored. */
  #heed(report: Report): void {
    switch (report.op) {
      case "ready":
        return;
      case "slots": {
        this.#addSlots(report.slots);
        return;
      }
      case "started":
        return this.#settle(report.id)?.started(report.pid);
      case "failed":
        // A process that was started and then failed has no other end.
        this.#processes.get(report.id)?.finish({ code: 127, signal: null });
        this.#processes.delete(report.id);
        return this.#settle(report.id)?.failed(report.code, report.error);
      case "exit": {
        this.#exited(report);
        return;
      }
      case "listening":
        return this.#listeners.get(report.name)?.opened();
      case "unlistened":
        return this.#listeners.get(report.name)?.failed(new Error(report.error));
      case "incoming":
        return void this.#incoming(report);
    }
  }

  #exited({ id, code, signal }: Report & { op: "exit" }): void {
    this.#streams.get(id)?.over(code !== 0);
    if (typeof id !== "number") return;
    const process = this.#processes.get(id);
    if (process === undefined) return;
    this.#processes.delete(id);
    process.finish({ code, signal });
    this.#lingering = [...this.#lingering.filter(({ lingers }) => lingers), process];
    if (this.#lingering.length > MAX_LINGERING) this.#lingering.shift()!.close();
  }

  #addSlots(slots: (Report & { op: "slots" })["slots"]): void {
    try {
      for (const slot of slots) {
        if (this.#end !== undefined) return;
        if (this.#slots.size >= MAX_FREE_SLOTS) throw new Error("there are more slots than were asked for");
        this.#slots.add(openSlot(this.#launched.agentFolder, slot));
      }
    } catch (error) {
      this.#die(`its pipes cannot be opened: ${(error as Error).message}`);
    }
  }

  async #incoming({ id, name }: Report & { op: "incoming" }): Promise<void> {
    const listener = this.#listeners.get(name);
    const key = `in${String(id)}`;
    if (listener === undefined || this.#streams.size >= MAX_INCOMING || this.#streams.has(key)) {
      this.#order({ op: "refuse", id });
      return;
    }
    const slot = await this.#slots.take().catch(() => undefined);
    if (slot === undefined) return;
    listener.accept(this.#open(key, slot));
    this.#order({ op: "accept", id, slot: slot.id });
  }

  #die(detail: string): void {
    this.#finish({ reason: "died", detail });
  }

  /** Nothing can be started any more; bubblewrap is killed, and the kernel ends everything in the namespace. */
  #finish(end: SandboxEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#child.kill("SIGKILL");
    this.#orders.end();
    this.#slots.close(endError(end));
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.failed("", "");
    for (const { failed } of this.#listeners.values()) failed(endError(end));
  }

  async #watch(): Promise<SandboxEnd> {
    const { child, initFolder, agentFolder, complaints, road } = this.#launched;
    if (child.exitCode === null && child.signalCode === null) {
      await new Promise((resolve) => child.once("exit", resolve));
    }
    const words = complaints().trim();
    this.#die(
      `bubblewrap ended with ${child.signalCode ?? `code ${String(child.exitCode)}`}${words && `: ${words}`}`,
    );
    await Promise.all([processGone(initFolder), road?.closed]);
    for (const process of this.#processes.values()) process.finish({ code: null, signal: "SIGKILL" });
    this.#processes.clear();
    for (const stream of this.#streams.values()) stream.over(true);
    closeSync(initFolder);
    closeSync(agentFolder);
    for (const pipe of child.stdio) pipe?.destroy();
    await this.#release();
    return this.#end!;
  }
}

/** Acts unless told otherwise in time. An event loop that was blocked meanwhile gets a second to read what has come. */
function deadline(ms: number, act: () => void): () => void {
  let timer = setTimeout(() => (timer = setTimeout(act, 1000)), ms);
  return () => clearTimeout(timer);
}

/** Waits until a process has ended; the kernel ends the first of a namespace after all others. */
async function processGone(folder: number): Promise<void> {
  const deadline = performance.now() + END_TIMEOUT_MS;
  for (let pause = 1; performance.now() < deadline; pause = Math.min(pause * 2, 50)) {
    try {
      const [, state] = /\) (\S)/.exec(readFileSync(`/proc/self/fd/${String(folder)}/stat`, "latin1")) ?? [];
      if (state === "Z" || state === "X") return;
    } catch {
      return;
    }
    await sleep(pause);
  }
}

/** The error of a call that a namespace's end cut short. */
export function endError({ reason, detail }: SandboxEnd): SandboxError {
  return new SandboxError(reason, `Cannot go on as the sandbox has ended: ${detail}`);
}

function spawnError(program: string, cwd: string, code: string, error: string): SandboxError {
  const why =
    code === "CWD"
      ? `the folder "${cwd}" cannot be entered inside`
      : code === "ENOENT"
        ? "there is no such program inside"
        : code === "EACCES"
          ? "it is not executable inside"
          : error;
  return new SandboxError("spawn-failed", `Cannot run the program as ${why}: current value is "${program}"`);
}
