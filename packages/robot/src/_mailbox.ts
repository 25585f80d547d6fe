import type { AbortOptions, EnvportError } from "@envport/wire";
import type { RobotObservation } from "./robot_observation.ts";

interface Waiter {
  resolve(observation: RobotObservation): void;
  reject(reason: unknown): void;
}

/** Holds the newest observation until somebody takes it, and the reason after which none will come. */
export class Mailbox {
  /** Resolves to the first reason. */
  readonly failed: Promise<EnvportError>;
  /** Observations that nobody took. */
  dropped = 0;
  reason: EnvportError | undefined;
  #unread: RobotObservation | undefined;
  #waiter: Waiter | undefined;
  #settle: ((reason: EnvportError) => void) | undefined;

  constructor() {
    this.failed = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Hands an observation over, or keeps it in place of an older one. */
  put(observation: RobotObservation): void {
    if (this.reason) return;
    if (this.#waiter) {
      this.#take()?.resolve(observation);
      return;
    }
    if (this.#unread) this.dropped++;
    this.#unread = observation;
  }

  /** Fails whoever waits, and whoever asks later. The end of an episode can still be read. */
  fail(reason: EnvportError): void {
    if (this.reason) return;
    this.reason = reason;
    if (!this.#unread?.terminated || reason.code === "closed") this.#unread = undefined;
    this.#take()?.reject(reason);
    this.#settle?.(reason);
  }

  /**
   * Takes the observation that is there, or the next one.
   *
   * @throws {TypeError} If somebody waits already.
   */
  async take({ signal }: AbortOptions): Promise<RobotObservation> {
    signal?.throwIfAborted();
    const unread = this.#unread;
    this.#unread = undefined;
    if (unread) return unread;
    if (this.reason) throw this.reason;
    if (this.#waiter) throw new TypeError("Cannot wait for observation as another call waits for it");
    const abandon = (): void => this.#take()?.reject(signal!.reason);
    signal?.addEventListener("abort", abandon, { once: true });
    try {
      return await new Promise<RobotObservation>((resolve, reject) => {
        this.#waiter = { resolve, reject };
      });
    } finally {
      signal?.removeEventListener("abort", abandon);
    }
  }

  #take(): Waiter | undefined {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    return waiter;
  }
}
