import type { AbortOptions, PublishedCapability, Service } from "@envport/wire";
import { EnvportError } from "@envport/wire";
import { publicMessage } from "./_public_error.ts";
import { within } from "./_within.ts";

interface Entry {
  service: Service;
  after: readonly Service[];
}

/** The services of one environment: started side by side where they do not depend on each other, stopped in reverse. */
export class ServiceSet {
  readonly #entries: Entry[] = [];
  #started: Service[] = [];
  /** Which service published which capability. */
  #publishers = new Map<string, Service>();
  readonly #down = new Map<Service, string>();
  /** Which start of a service is its latest. */
  readonly #runs = new Map<Service, symbol>();

  /**
   * @param service The service.
   * @param after Services of this set that it needs.
   * @throws {TypeError} If it is here already, or one that it needs is not.
   */
  add(service: Service, after: readonly Service[]): void {
    if (this.#entries.some((entry) => entry.service === service)) {
      throw new TypeError(`Cannot use service '${service.name}' as it is in use already`);
    }
    const stranger = after.find((needed) => !this.#entries.some((entry) => entry.service === needed));
    if (stranger) {
      throw new TypeError(
        `Cannot use service '${service.name}' as '${stranger.name}', which it needs, is not in use yet`,
      );
    }
    this.#entries.push({ service, after });
  }

  /**
   * Starts all of them.
   *
   * @param options A signal that gives up.
   * @returns What to publish, in order of registration.
   * @throws {EnvportError} If one failed (`service-failed`) or two publish the same name; some may be running then.
   */
  async start({ signal }: AbortOptions): Promise<PublishedCapability[]> {
    const failed = new AbortController();
    const combined = AbortSignal.any(signal ? [signal, failed.signal] : [failed.signal]);
    const starts = new Map<Service, Promise<readonly PublishedCapability[]>>();
    for (const { service, after } of this.#entries) {
      const ready = Promise.all(after.map((needed) => starts.get(needed)!));
      const start = ready.then(() => this.#startOne(service, combined));
      start.catch((error: unknown) => {
        failed.abort(error);
      });
      starts.set(service, start);
    }
    // Every start has come to its end before a failure is reported: nothing is left half started.
    await Promise.allSettled(starts.values());
    const published: PublishedCapability[] = [];
    signal?.throwIfAborted();
    if (failed.signal.aborted) throw failed.signal.reason;
    for (const [service, start] of starts) {
      for (const capability of await start) published.push(this.#publish(service, capability));
    }
    return published;
  }

  async #startOne(service: Service, signal: AbortSignal): Promise<readonly PublishedCapability[]> {
    signal.throwIfAborted();
    this.#started.push(service);
    this.#down.delete(service);
    try {
      const capabilities = await service.start({ signal });
      // It did not heed its signal and was stopped in the middle.
      if (!this.#started.includes(service)) await service.stop();
      this.#watch(service);
      return capabilities;
    } catch (error) {
      signal.throwIfAborted();
      throw new EnvportError(
        "service-failed",
        `Cannot start service '${service.name}': ${messageOf(error)}`,
        {
          cause: error,
        },
      );
    }
  }

  /** Notes when the daemon of this start is gone; a later start has a promise of its own. */
  #watch(service: Service): void {
    const run = Symbol();
    this.#runs.set(service, run);
    const gone = (reason: unknown): void => {
      if (!this.#started.includes(service) || this.#runs.get(service) !== run) return;
      this.#down.set(service, reason === undefined ? "it was stopped" : publicMessage(reason));
    };
    service.closed?.then(gone, gone);
  }

  #publish(service: Service, capability: PublishedCapability): PublishedCapability {
    const other = this.#publishers.get(capability.name);
    if (other) {
      throw new EnvportError(
        "service-failed",
        `Cannot publish capability '${capability.name}' of service '${service.name}' as service '${other.name}' has one of that name: give one of them another name`,
      );
    }
    this.#publishers.set(capability.name, service);
    return capability;
  }

  /** Why the daemon behind a capability is gone, or undefined. */
  downReason(name: string): string | undefined {
    const service = this.#publishers.get(name);
    return service && this.#down.get(service);
  }

  /**
   * Stops what was started, in reverse order.
   *
   * @returns What they threw, and which capabilities are no more.
   */
  async stop(): Promise<{ failures: unknown[]; published: string[] }> {
    const started = this.#started.toReversed();
    const published = [...this.#publishers.keys()];
    this.#started = [];
    this.#publishers = new Map();
    const failures: unknown[] = [];
    for (const service of started)
      failures.push(...(await stopOne(`service '${service.name}'`, () => service.stop())));
    return { failures, published };
  }
}

/** How long one service or hook may take to stop before the next one gets its turn, in milliseconds. */
const STOP_MS = 4_000;

/**
 * Stops one thing; what does not come to an end must not keep the others from stopping.
 *
 * @param what What errors call it.
 * @param stop Stops it.
 * @returns What it threw, or that it took too long; empty if it stopped.
 */
export async function stopOne(what: string, stop: () => Promise<void> | void): Promise<unknown[]> {
  try {
    if (await within(Promise.resolve(stop()), STOP_MS)) return [];
    return [
      new EnvportError(
        "timeout",
        `Cannot wait for ${what} as it takes longer than ${String(STOP_MS)} ms to stop`,
      ),
    ];
  } catch (error) {
    return [error];
  }
}

/** What the author reads of an error that stays on this side of the wire. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
