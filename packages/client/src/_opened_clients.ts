import type { AbortOptions, CapabilityClient, Protocol } from "@envport/wire";
import { pause } from "./_abortable.ts";
import { connectPatiently } from "./_retry.ts";
import { SharedAttempt } from "./_shared_attempt.ts";

interface Opened {
  protocol: unknown;
  name: string;
  attempt: SharedAttempt<CapabilityClient>;
}

/** The clients of capabilities that have been opened: one for each binding and protocol (CLI-4). */
export class OpenedClients {
  readonly #opened = new Set<Opened>();

  /**
   * Returns the client that is there, or connects one; whoever asks meanwhile gets the same.
   *
   * @param protocol What it speaks.
   * @param name The binding.
   * @param connect Makes one try; tries that fail for reasons of the network are repeated.
   * @param options A signal that gives up.
   */
  async open<C extends CapabilityClient>(
    protocol: Protocol<C>,
    name: string,
    connect: (signal: AbortSignal) => Promise<C>,
    { signal }: AbortOptions,
  ): Promise<C> {
    signal?.throwIfAborted();
    let opened = [...this.#opened].find(
      (one) => one.protocol === protocol && one.name === name && !one.attempt.abandoned,
    );
    opened ??= this.#begin({
      protocol,
      name,
      attempt: new SharedAttempt((abandoned) => connectOnce(connect, abandoned)),
    });
    return (await opened.attempt.wait(signal)) as C;
  }

  #begin(opened: Opened): Opened {
    this.#opened.add(opened);
    opened.attempt.result.catch(() => this.#opened.delete(opened));
    return opened;
  }

  /**
   * Closes those that are open, and gives up those that are being opened.
   *
   * @param reason What the latter fail with.
   * @param patience How long closing is waited for, in milliseconds, and a signal that ends the wait.
   */
  async close(reason: Error, { timeout, signal }: { timeout: number; signal: AbortSignal }): Promise<void> {
    const closing = [...this.#opened].map(async ({ attempt }) => {
      attempt.abandon(reason);
      await (await attempt.result).close();
    });
    const closed = new AbortController();
    const late = pause(timeout, AbortSignal.any([closed.signal, signal])).catch(() => {});
    await Promise.race([Promise.allSettled(closing), late]);
    closed.abort();
  }
}

/** A client that is there only when nobody waits for it any more is closed again. */
async function connectOnce(
  connect: (signal: AbortSignal) => Promise<CapabilityClient>,
  signal: AbortSignal,
): Promise<CapabilityClient> {
  const client = await connectPatiently(() => connect(signal), signal);
  if (!signal.aborted) return client;
  await client.close().catch(() => {});
  throw signal.reason;
}
