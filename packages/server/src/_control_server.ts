import { EventEmitter } from "node:events";
import type { ByteStream, EndpointUrl, Splice } from "@envport/wire";
import { EnvportError, consoleLogger } from "@envport/wire";
import { Connection } from "./_accept.ts";
import { Access } from "./_access.ts";
import type { Limits } from "./_limits.ts";
import { resolveLimits } from "./_limits.ts";
import { Listener } from "./_listener.ts";
import { safeLogger } from "./_safe_logger.ts";
import { Sessions } from "./_sessions.ts";
import { StreamCounter } from "./_stream_counter.ts";
import { within } from "./_within.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";
import type { ServeOptions, Server, ServerEvents, ServerStats } from "./serve.ts";

/** How long connections that were cut may take to be over, in milliseconds; what hangs in an abandoned task is left. */
const ABORT_MS = 500;

/** An environment on a port, or on several. */
export class ControlServer extends EventEmitter<ServerEvents> implements Server {
  readonly #env: Environment;
  readonly #limits: Limits;
  readonly #logger: Logger;
  readonly #sessions: Sessions;
  readonly #access: Access;
  readonly #counter = new StreamCounter();
  /** Each with what resolves when it is over. */
  readonly #connections = new Map<Connection, Promise<void>>();
  readonly #listeners: readonly Listener[];
  readonly #stopped = new AbortController();
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /**
   * @param env What to serve.
   * @param endpoints Where.
   * @param options Tokens, limits and times.
   */
  constructor(env: Environment, endpoints: readonly EndpointUrl[], options: ServeOptions) {
    super();
    this.#env = env;
    this.#limits = resolveLimits(options);
    this.#logger = safeLogger(options.logger ?? consoleLogger());
    this.#sessions = new Sessions(env, { ...this.#limits, logger: this.#logger });
    this.#access = new Access(options.tokens);
    const { maxFrameBytes, maxConnections, prefaceTimeout } = this.#limits;
    const context = {
      tls: options.tls,
      allowedOrigins: options.allowedOrigins ?? [],
      maxFrameBytes,
      maxConnections,
      prefaceTimeout,
      logger: this.#logger,
      onStream: (stream: ByteStream, source: string) => void this.#accept(stream, source),
    };
    this.#listeners = endpoints.map((endpoint) => new Listener(endpoint, context));
  }

  get port(): number {
    return this.#listeners.find(({ port }) => port !== undefined)?.port ?? 0;
  }

  get url(): string {
    return this.urls[0]!;
  }

  get urls(): readonly string[] {
    return this.#listeners.map(({ url }) => url);
  }

  /** How long stopping may take, in milliseconds. */
  get shutdownGrace(): number {
    return this.#limits.shutdownGrace;
  }

  stats(): ServerStats {
    return {
      connections: this.#connections.size,
      sessions: this.#sessions.counts,
      streams: this.#counter.stats(),
    };
  }

  /** Services, then hooks, then the port (CONN-6). */
  async start(): Promise<void> {
    this.#starting = this.#env.start({ signal: this.#stopped.signal });
    await this.#starting;
    try {
      await this.#listen();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #listen(): Promise<void> {
    for (const listener of this.#listeners) {
      this.#stopped.signal.throwIfAborted();
      await listener.listen();
    }
    if (!this.#stopped.signal.aborted) return;
    await this.#closeListeners();
    this.#stopped.signal.throwIfAborted();
  }

  async #accept(stream: ByteStream, source: string): Promise<void> {
    const connection = new Connection(stream, {
      ...this.#limits,
      env: this.#env,
      sessions: this.#sessions,
      access: this.#access,
      logger: this.#logger,
      source,
      onTunnel: (capability, tunnel) => this.#countTunnel(capability, tunnel),
    });
    if (this.#connections.size >= this.#limits.maxConnections) {
      await connection.refuseForCapacity(this.#limits.maxConnections);
      return;
    }
    const over = connection.run().finally(() => this.#connections.delete(connection));
    this.#connections.set(connection, over);
    await over;
  }

  #countTunnel(capability: string, tunnel: Splice): void {
    const counted = this.#counter.count(capability, tunnel);
    this.emit("stream:open", { capability });
    void counted.then(() => {
      const { bytesForth, bytesBack } = tunnel;
      this.emit("stream:close", { capability, bytesForth, bytesBack });
    });
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#stopped.abort(new EnvportError("closed", "Cannot go on as the server was closed"));
    const listenersClosed = this.#closeListeners();
    const { shutdownGrace } = this.#limits;
    if (!(await within(this.#stop(shutdownGrace / 2), shutdownGrace))) {
      this.#logger.log("warn", "stopping took too long; what was left is abandoned", {
        graceMs: shutdownGrace,
      });
    }
    for (const connection of this.#connections.keys()) connection.abort();
    await listenersClosed;
    await within(Promise.all(this.#connections.values()), ABORT_MS);
    this.emit("close");
  }

  async #closeListeners(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.close()));
  }

  /**
   * Tasks first, while the services that their clean-up needs are still up.
   *
   * @param grace How long a start, and then tasks and connections, may take; the rest is for hooks and services, which
   *   must be stopped whatever the others do.
   */
  async #stop(grace: number): Promise<void> {
    await within(Promise.allSettled([this.#starting]), grace);
    await within(this.#finishSessions(), grace);
    for (const error of await this.#env.stop())
      this.#logger.log("error", "stopping failed in part", { error });
  }

  async #finishSessions(): Promise<void> {
    await this.#sessions.stop();
    await Promise.all([...this.#connections.keys()].map((connection) => connection.finish()));
  }
}
