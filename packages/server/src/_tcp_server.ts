import { EventEmitter } from "node:events";
import net from "node:net";
import type { ByteStream, Splice } from "@envport/wire";
import { EnvportError, SOCKET_OPTIONS, consoleLogger } from "@envport/wire";
import { Connection } from "./_accept.ts";
import type { Limits } from "./_limits.ts";
import { checkNumber, resolveLimits } from "./_limits.ts";
import { safeLogger } from "./_safe_logger.ts";
import { Sessions } from "./_sessions.ts";
import { StreamCounter } from "./_stream_counter.ts";
import { within } from "./_within.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";
import type { ServeOptions, Server, ServerEvents, ServerStats } from "./serve.ts";

/** Connections that wait to be accepted: a burst of clients must not meet SYN retransmissions (TUN-5). */
const BACKLOG = 4096;

/** How long connections that were cut may take to be over, in milliseconds; what hangs in an abandoned task is left. */
const ABORT_MS = 500;

/** An environment on a TCP port. */
export class TcpServer extends EventEmitter<ServerEvents> implements Server {
  readonly #env: Environment;
  readonly #host: string;
  /** The one that was asked for, then the one that is bound. */
  #port: number;
  readonly #limits: Limits;
  readonly #logger: Logger;
  readonly #sessions: Sessions;
  readonly #counter = new StreamCounter();
  /** Each with what resolves when it is over. */
  readonly #connections = new Map<Connection, Promise<void>>();
  readonly #listener: net.Server;
  readonly #stopped = new AbortController();
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /**
   * @param env What to serve.
   * @param options Address, limits and times.
   */
  constructor(env: Environment, options: ServeOptions) {
    super();
    this.#env = env;
    this.#host = options.host ?? "127.0.0.1";
    this.#port = options.port ?? 0;
    checkNumber("port", this.#port, 65_535);
    this.#limits = resolveLimits(options);
    this.#logger = safeLogger(options.logger ?? consoleLogger());
    this.#sessions = new Sessions(env, { ...this.#limits, logger: this.#logger });
    this.#listener = net.createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) => {
      void this.#accept(socket);
    });
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `tcp://${this.#host.includes(":") ? `[${this.#host}]` : this.#host}:${String(this.port)}`;
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
    this.#stopped.signal.throwIfAborted();
    const address = { host: this.#host, port: this.#port };
    await new Promise<void>((resolve, reject) => {
      this.#listener.once("error", (error: NodeJS.ErrnoException) => {
        reject(listenError(error, address));
      });
      this.#listener.listen({ ...address, backlog: BACKLOG }, resolve);
    });
    this.#port = (this.#listener.address() as net.AddressInfo).port;
    this.#listener.removeAllListeners("error").on("error", (error) => {
      this.#logger.log("error", "a connection could not be accepted", { error });
    });
    if (!this.#stopped.signal.aborted) return;
    await this.#closeListener();
    this.#stopped.signal.throwIfAborted();
  }

  async #accept(stream: ByteStream): Promise<void> {
    const connection = new Connection(stream, {
      ...this.#limits,
      env: this.#env,
      sessions: this.#sessions,
      logger: this.#logger,
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
    const listenerClosed = this.#closeListener();
    const { shutdownGrace } = this.#limits;
    if (!(await within(this.#stop(shutdownGrace / 2), shutdownGrace))) {
      this.#logger.log("warn", "stopping took too long; what was left is abandoned", {
        graceMs: shutdownGrace,
      });
    }
    for (const connection of this.#connections.keys()) connection.abort();
    await listenerClosed;
    await within(Promise.all(this.#connections.values()), ABORT_MS);
    this.emit("close");
  }

  async #closeListener(): Promise<void> {
    if (!this.#listener.listening) return;
    await new Promise<void>((resolve) => this.#listener.close(() => resolve()));
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

function listenError(
  error: NodeJS.ErrnoException,
  { host, port }: { host: string; port: number },
): EnvportError {
  const where = `${host}:${String(port)}`;
  if (error.code === "EADDRINUSE") {
    return new EnvportError(
      "address-in-use",
      `Cannot listen on ${where} as another program does (EADDRINUSE): choose another port, or 0 for any`,
      { cause: error },
    );
  }
  return new EnvportError("service-failed", `Cannot listen on ${where}: ${error.code ?? error.message}`, {
    cause: error,
  });
}
