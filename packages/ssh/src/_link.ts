import { EnvportError } from "@envport/wire";
import type { Client, ClientChannel } from "ssh2";
import type { Connection } from "./_connection.ts";
import { openConnection } from "./_connection.ts";
import type { SshTarget } from "./_ssh_target.ts";
import { unlessAborted } from "./_unless_aborted.ts";

/** Starts something on a connection, and is told of its channel. */
export type OpenChannel<C> = (
  client: Client,
  callback: (error: Error | undefined, channel: C) => void,
) => void;

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
   * @param act What was tried, for the error: `start command`.
   * @param open Asks ssh2 for the channel.
   * @throws {EnvportError} `connection-lost`, or `unsupported` if the server refuses.
   */
  async channel<C = ClientChannel>(
    act: string,
    open: OpenChannel<C>,
    signal?: AbortSignal,
  ): Promise<{ channel: C; lost: AbortSignal }> {
    const { client, lost } = await this.ready(signal);
    const channel = await new Promise<C>((resolve, reject) => {
      const settle = (error: Error | undefined, channel?: C): void => {
        signal?.removeEventListener("abort", abort);
        if (signal?.aborted) (channel as { close?: () => void } | undefined)?.close?.();
        else if (channel) resolve(channel);
        else reject(lost.aborted ? (lost.reason as Error) : refused(act, error));
      };
      const abort = (): void => {
        reject(signal!.reason as Error);
      };
      signal?.addEventListener("abort", abort);
      try {
        open(client, settle);
      } catch (error) {
        settle(error as Error);
      }
    });
    return { channel, lost };
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
