import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import type { AbortOptions } from "./abort_options.ts";
import { DEFAULT_PATH } from "./default_path.ts";
import { ConfineError, launch } from "./_launch.ts";
import type { Launched } from "./_launch.ts";
import { Namespace, endError } from "./_namespace.ts";
import { openNetwork } from "./_network.ts";
import { preparePlan } from "./_prepare_plan.ts";
import type { Concessions } from "./_prepare_plan.ts";
import { RoadError } from "./_road.ts";
import type { SandboxEnd } from "./sandbox_end.ts";
import { SandboxError } from "./sandbox_error.ts";
import type { SandboxOptions } from "./sandbox_options.ts";
import type { SandboxCommand, SandboxProcess } from "./sandbox_process.ts";
import type { SandboxReport } from "./sandbox_report.ts";

/**
 * A persistent bubblewrap sandbox around a directory.
 *
 * All its processes share one set of namespaces: a server that one command leaves running is there for the next. When
 * the serving process ends, however it does, everything inside ends with it. Should the sandbox die by itself (a
 * process inside may kill the spawn server, which runs as the same user), open processes end with SIGKILL and the next
 * `spawn()` or `connect()` starts a fresh one around the same directory.
 *
 * ```text
 * new ──start──► running ──stop──► stopped
 *                 ▲   │ died
 *                 └───┘ next spawn or connect
 * ```
 *
 * @example
 * ```ts
 * import { Sandbox } from "@envport/sandbox";
 * import { mkdtemp } from "node:fs/promises";
 * import { text } from "node:stream/consumers";
 * import assert from "node:assert/strict";
 *
 * await using sandbox = new Sandbox({ root: await mkdtemp("/tmp/task-") });
 * const process = await sandbox.spawn({ argv: ["bash", "-c", "pwd; ls -A"] });
 * assert.equal(await text(process.stdout), "/workspace\n");
 * assert.deepEqual(await process.exit, { code: 0, signal: null });
 * ```
 */
export class Sandbox {
  readonly #options: SandboxOptions;
  #starting: Promise<Namespace> | undefined;
  #namespace: Namespace | undefined;
  #report: SandboxReport | undefined;
  #networkEnv: Readonly<Record<string, string>> = {};
  #stopped: Promise<void> | undefined;
  #resolveFirst!: (end: SandboxEnd) => void;
  readonly #first: Promise<SandboxEnd> = new Promise((resolve) => (this.#resolveFirst = resolve));

  constructor(options: SandboxOptions) {
    this.#options = options;
  }

  /**
   * Starts it; does nothing if it is running.
   *
   * @throws {SandboxError} If this machine cannot sandbox (`unavailable`), a mount breaks a rule (`invalid-mount`), a
   * hidden path would be visible (`hidden-visible`), the identity is root (`invalid-identity`), bubblewrap does not
   * come up (`start-failed`), or it was stopped (`stopped`).
   */
  async start(options: AbortOptions = {}): Promise<void> {
    await this.#running(options.signal);
  }

  /**
   * Runs a program inside.
   *
   * @param command What to run.
   * @param options Its signal kills the process, also after it has started.
   * @throws {SandboxError} If the program cannot be started (`spawn-failed`), the sandbox ends meanwhile (`died`,
   * `stopped`), or for what `start()` throws.
   * @throws {TypeError} If `argv` is empty, or a word or variable holds a NUL.
   */
  async spawn(command: SandboxCommand, { signal }: AbortOptions = {}): Promise<SandboxProcess> {
    checkCommand(command);
    const { argv, cwd = this.#guestPath, pty } = command;
    const namespace = await this.#running(signal);
    const env = {
      ...this.#networkEnv,
      ...this.#env,
      ...(pty?.term !== undefined && { TERM: pty.term }),
      ...command.env,
    };
    const { wallTime, output } = this.#options.limits ?? {};
    const spawning = namespace.spawn({ argv, env, cwd, pty, limits: { wallTime, output } });
    const process = await abortable(spawning, signal, (process) => {
      process.kill();
      process.stdout.destroy();
      process.stderr?.destroy();
    });
    if (signal !== undefined) {
      const kill = (): void => process.kill();
      signal.addEventListener("abort", kill, { once: true });
      void process.exit.then(() => signal.removeEventListener("abort", kill));
    }
    return process;
  }

  /**
   * Connects to a TCP port on the sandbox's own loopback.
   *
   * @param port The port inside.
   * @throws {SandboxError} If nothing accepts there (`connect-failed`), the sandbox ends meanwhile (`died`, `stopped`),
   * or for what `start()` throws.
   * @throws {RangeError} If the port is not from 1 to 65535.
   */
  async connect(port: number, { signal }: AbortOptions = {}): Promise<Duplex> {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new RangeError(
        `Cannot connect as the port is not from 1 to 65535: current value is "${String(port)}"`,
      );
    }
    const namespace = await this.#running(signal);
    return abortable(namespace.connect(port), signal, (stream) => void stream.destroy());
  }

  /** Kills everything inside, for good, and resolves once nothing of it is left. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** The same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Resolves when the present namespace has ended, or the first one before there is any. A fresh one has a new promise. */
  get closed(): Promise<SandboxEnd> {
    return this.#namespace?.ended ?? this.#first;
  }

  /**
   * What is in force.
   *
   * @throws {SandboxError} If it has not been started, code `stopped`.
   */
  get report(): SandboxReport {
    if (this.#report === undefined)
      throw new SandboxError("stopped", "Cannot report as the sandbox has not been started");
    return this.#report;
  }

  get #guestPath(): string {
    return this.#options.guestPath ?? "/workspace";
  }

  get #env(): Readonly<Record<string, string>> {
    return this.#options.env ?? { PATH: DEFAULT_PATH, HOME: this.#guestPath, LANG: "C.UTF-8" };
  }

  async #running(signal: AbortSignal | undefined): Promise<Namespace> {
    signal?.throwIfAborted();
    if (this.#stopped !== undefined) throw endError({ reason: "stopped", detail: "it was stopped" });
    if (this.#namespace?.alive === true) return this.#namespace;
    this.#starting ??= this.#launch().finally(() => (this.#starting = undefined));
    return abortable(this.#starting, signal, () => {});
  }

  async #launch(): Promise<Namespace> {
    await this.#namespace?.ended;
    const namespace = await this.#tryLaunch({});
    this.#namespace = namespace;
    void namespace.ended.then(this.#resolveFirst);
    if (this.#stopped !== undefined) {
      await namespace.stop();
      throw endError({ reason: "stopped", detail: "it was stopped" });
    }
    return namespace;
  }

  async #tryLaunch(without: Concessions): Promise<Namespace> {
    const { plan, network, report, release } = preparePlan(this.#options, DEFAULT_PATH, without);
    const agent = readFileSync(new URL("./_agent.cjs", import.meta.url));
    let launched: Launched;
    try {
      launched = await launch({ ...plan, agent }, undefined);
    } catch (error) {
      await release();
      if (error instanceof ConfineError) return this.#tryLaunch({ ...without, cgroups: true });
      if (error instanceof RoadError) return this.#tryLaunch({ ...without, road: error.message });
      throw error;
    }
    const namespace = new Namespace(launched, release);
    await openNetwork(namespace, network).catch(async (error: unknown) => {
      await namespace.stop();
      throw error;
    });
    this.#networkEnv = network.env;
    this.#report = report;
    return namespace;
  }

  async #stop(): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#namespace?.stop();
    this.#resolveFirst({ reason: "stopped", detail: "it was stopped" });
  }
}

/** Rejects as soon as the signal says so; what comes of the promise later is given to `discard`. */
async function abortable<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  discard: (value: T) => void,
): Promise<T> {
  if (signal === undefined) return promise;
  let abort!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
  try {
    return await Promise.race([promise, aborted]);
  } catch (error) {
    if (signal.aborted) promise.then(discard, () => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function checkCommand({ argv, env = {}, cwd = "/" }: SandboxCommand): void {
  if (argv.length === 0 || argv[0] === "")
    throw new TypeError("Cannot run a program as argv names none: current value is []");
  const odd = [...argv, cwd, ...Object.entries(env).flat()].find(
    (word) => typeof word !== "string" || word.includes("\0"),
  );
  if (odd !== undefined)
    throw new TypeError(
      `Cannot run a program as a word is no string without NUL: current value is ${JSON.stringify(odd)}`,
    );
  const name = Object.keys(env).find((name) => name === "" || name.includes("="));
  if (name !== undefined)
    throw new TypeError(
      `Cannot run a program as a variable's name is empty or has a "=": current value is "${name}"`,
    );
}
