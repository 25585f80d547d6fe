import { EnvportError, unlessAborted } from "@envport/wire";
import type { Client } from "ssh2";
import type { Connection } from "./_connection.ts";
import { openConnection } from "./_connection.ts";
import type { SshTarget } from "./_ssh_target.ts";

/** What {@linkcode Link.channel} opens. */
export interface ChannelRequest<C, T> {
  /** What is tried, for the error: `start command`. */
  readonly act: string;
  readonly open: (client: Client, callback: (error: Error | undefined, channel: C) => void) => void;
  readonly wrap: (channel: C, lost: AbortSignal) => T;
  readonly discard: (channel: C) => void;
}

/**
 * A connection that is opened anew, for the next call, when it was lost. Nothing that was under way is sent again.
 *
 * ```text
 * connected ── lost ─▶ ready() ─▶ connected
 *     └── close() ─▶ closed
 * ```
 */
export class Link {
  readonly #target: SshTarget;
  readonly #readyTimeout: number;
  #opening: Promise<Connection> | undefined;
  #current: Connection | undefined;
  #closed = false;
  readonly #giveUp = new AbortController();

  /**
   * @param target Where to.
   * @param readyTimeout Milliseconds from the dial to the login.
   */
  constructor(target: SshTarget, readyTimeout: number) {
    this.#target = target;
    this.#readyTimeout = readyTimeout;
  }

  /** The connection of the moment, if there is one. */
  get current(): Connection | undefined {
    return this.#closed ? undefined : this.#current;
  }

  /** The connection, opened if there is none. */
  async ready(signal: AbortSignal | undefined): Promise<Connection> {
    signal?.throwIfAborted();
    if (this.#closed) throw new EnvportError("closed", "Cannot use SSH client as it is closed");
    if (this.#current && !this.#current.lost.aborted) return this.#current;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    return await unlessAborted(this.#opening, signal);
  }

  /**
   * Opens a channel; one that comes after the signal is closed again.
   *
   * @param request What was tried, how to ask ssh2 for it, and what to make of the channel: at once, since all that a
   * short command has to say may have come in the same packet as the channel itself.
   * @throws {EnvportError} `connection-lost`, or `unsupported` if the server refuses.
   */
  async channel<C, T>(request: ChannelRequest<C, T>, signal?: AbortSignal): Promise<T> {
    const { client, lost } = await this.ready(signal);
    return await new Promise<T>((resolve, reject) => {
      const settle = (error: Error | undefined, channel?: C): void => {
        signal?.removeEventListener("abort", abort);
        if (channel && signal?.aborted) request.discard(channel);
        else if (channel) resolve(request.wrap(channel, lost));
        else reject(lost.aborted ? (lost.reason as Error) : refused(request.act, error));
      };
      const abort = (): void => {
        reject(signal!.reason as Error);
      };
      signal?.addEventListener("abort", abort);
      try {
        request.open(client, settle);
      } catch (error) {
        settle(error as Error);
      }
    });
  }

  /** Ends the connection. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#giveUp.abort(new EnvportError("closed", "Cannot connect as the SSH client is closed"));
    await this.#opening?.catch(() => undefined);
    await this.#current?.end();
  }

  async #open(): Promise<Connection> {
    const { signal } = this.#giveUp;
    const connection = await openConnection(this.#target, { signal, readyTimeout: this.#readyTimeout });
    this.#current = connection;
    return connection;
  }
}

function refused(act: string, error: Error | undefined): EnvportError {
  const reason = error?.message ?? "no reason given";
  const lost = reason === "Not connected";
  return new EnvportError(
    lost ? "connection-lost" : "unsupported",
    `Cannot ${act} as the SSH server refuses it: ${reason}`,
    { cause: error },
  );
}
