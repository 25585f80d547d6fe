import type { AbortOptions } from "./abort_options.ts";
import { EnvportError } from "./envport_error.ts";

/** What a {@linkcode Lifecycle} calls. */
export interface LifecycleSteps<T> {
  /** What errors call it: `workspace 'shell'`. */
  readonly name: string;
  /** Starts it; what it has begun it ends again if it fails. */
  start(this: void, options: AbortOptions): Promise<T>;
  /** Ends what `start` has made. */
  stop(this: void, running: T): Promise<void>;
}

/**
 * The starts and stops of a service, which may be called any number of times in any order: one start at a time, one stop
 * for each, and a start during a stop waits for it.
 *
 * ```text
 * idle ── start() ─▶ running ── stop() ─▶ idle
 *    ◀── it fails ──┘
 * ```
 *
 * @typeParam T What is there between a start and a stop.
 *
 * @example
 * ```ts
 * import { Lifecycle } from "@envport/wire";
 * import net from "node:net";
 *
 * const lifecycle = new Lifecycle({
 *   name: "echo",
 *   start: () => Promise.resolve(net.createServer((socket) => socket.pipe(socket)).listen(0)),
 *   stop: (server) => new Promise((resolve) => server.close(() => resolve())),
 * });
 * await lifecycle.start();
 * console.error(lifecycle.running.address());
 * await lifecycle.stop();
 * ```
 */
export class Lifecycle<T> {
  readonly #steps: LifecycleSteps<T>;
  #starting: Promise<T> | undefined;
  #running: { readonly value: T } | undefined;
  #stopping: Promise<void> | undefined;

  constructor(steps: LifecycleSteps<T>) {
    this.#steps = steps;
  }

  /** What is running, if anything is. */
  get current(): T | undefined {
    return this.#running?.value;
  }

  /**
   * What is running.
   *
   * @throws {EnvportError} `closed` If nothing is.
   */
  get running(): T {
    if (this.#running) return this.#running.value;
    throw new EnvportError(
      "closed",
      `Cannot use ${this.#steps.name} as it must be started: current value is 'idle'`,
    );
  }

  /**
   * Starts it, unless it is started.
   *
   * @param options A signal that gives up.
   * @throws What its own start throws; the signal's reason.
   */
  async start(options: AbortOptions = {}): Promise<T> {
    options.signal?.throwIfAborted();
    await this.#stopping;
    const starting = (this.#starting ??= this.#steps.start(options));
    try {
      const value = await starting;
      if (this.#starting === starting) this.#running = { value };
      return value;
    } catch (error) {
      if (this.#starting === starting) this.#starting = undefined;
      throw error;
    }
  }

  /** Stops it, unless it is stopped; one that is being started is stopped once it is up. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => (this.#stopping = undefined));
    await this.#stopping;
  }

  async #stop(): Promise<void> {
    const started = await this.#starting?.then(
      (value) => ({ value }),
      () => undefined,
    );
    this.#starting = this.#running = undefined;
    if (started) await this.#steps.stop(started.value);
  }
}
