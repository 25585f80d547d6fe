import { EventEmitter } from "node:events";
import net from "node:net";
import type { ByteStream } from "@envport/wire";
import { EnvportError, MAX_FRAME_BYTES, SOCKET_OPTIONS } from "@envport/wire";
import { Connection } from "./_accept.ts";
import { Sessions } from "./_sessions.ts";
import type { StreamStats } from "./_stream_counter.ts";
import { StreamCounter } from "./_stream_counter.ts";
import { within } from "./_within.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";
import { consoleLogger } from "./logger.ts";

/** Options of {@linkcode serve}; times are in milliseconds. */
export interface ServeOptions {
  /**
   * Address to bind. Anything but loopback needs `insecure` (CONN-6).
   *
   * @default {"127.0.0.1"}
   */
  host?: string;
  /**
   * Port to bind; 0 = any that is free.
   *
   * @default {0}
   */
  port?: number;
  /**
   * Serve everyone who can reach a host that is not loopback: whoever can, can run and grade tasks.
   *
   * @default {false}
   */
  insecure?: boolean;
  /**
   * Print `HUD_SERVE_PORT=<port>` on standard output once bound; launchers read it (CONN-6).
   *
   * @default {false}
   */
  announce?: boolean;
  /**
   * Stop on SIGTERM and SIGINT and end the process; a second signal ends it at once.
   *
   * @default {false}
   */
  signals?: boolean;
  /** @default {10000} */
  maxConnections?: number;
  /** @default {16777216} */
  maxFrameBytes?: number;
  /**
   * How long a connection may take for its first frame (CONN-3).
   *
   * @default {10000}
   */
  prefaceTimeout?: number;
  /**
   * How long the daemon of a tunnel may take to accept (TUN-5).
   *
   * @default {10000}
   */
  dialTimeout?: number;
  /**
   * How long a half-closed tunnel may be silent; 0 = for ever (TUN-3).
   *
   * @default {120000}
   */
  halfCloseTimeout?: number;
  /**
   * How long a parked task is kept (SESS-7).
   *
   * @default {3600000}
   */
  parkTtl?: number;
  /**
   * How many parked sessions are kept (SESS-7).
   *
   * @default {1000}
   */
  maxParked?: number;
  /**
   * How long an evaluation is kept for whoever lost it (SESS-6).
   *
   * @default {900000}
   */
  resultTtl?: number;
  /**
   * How long a cancelled task may ignore its signal (TASK-8).
   *
   * @default {5000}
   */
  cancelGrace?: number;
  /**
   * How long stopping may take (TASK-11).
   *
   * @default {10000}
   */
  shutdownGrace?: number;
  /** @default {consoleLogger()} */
  logger?: Logger;
}

/** Figures of a server. */
export interface ServerStats {
  /** Connections open now, of every kind. */
  connections: number;
  /** Sessions with a connection, and sessions that wait for one. */
  sessions: { live: number; parked: number };
  /** By capability name; those that nobody has opened are absent (TUN-6). */
  streams: Record<string, StreamStats>;
}

/** What a server tells about its tunnels (TUN-6). */
export interface ServerEvents {
  "stream:open": [event: { capability: string }];
  "stream:close": [event: { capability: string; bytesForth: number; bytesBack: number }];
}

/** A server that is listening. */
export interface Server extends EventEmitter<ServerEvents> {
  /** The port that it listens on. */
  readonly port: number;
  /** What a client connects to: `tcp://127.0.0.1:8765`. */
  readonly url: string;
  /** The figures of now. */
  stats(): ServerStats;
  /** Stops (TASK-11): no new connection, every task cancelled and cleaned up, hooks and services stopped. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts an environment's services and serves it on one TCP port.
 *
 * @param env What to serve.
 * @param options Address, limits and times.
 * @returns The server, once the port is bound.
 * @throws {EnvportError} If a service or hook fails (`service-failed`) or the address is taken (`address-in-use`); what
 *   had started is stopped again.
 * @throws {TypeError} If the host is not loopback and `insecure` is not set.
 *
 * @example
 * ```ts
 * import { Environment, serve } from "@envport/server";
 *
 * const server = await serve(new Environment({ name: "empty" }));
 * console.error(server.url);
 * await server.close();
 * ```
 */
export async function serve(env: Environment, options: ServeOptions = {}): Promise<Server> {
  const { host = "127.0.0.1", insecure = false } = options;
  if (!insecure && !isLoopback(host)) {
    throw new TypeError(
      `Cannot serve on host '${host}' as everyone who reaches it could run tasks: bind 127.0.0.1, or pass insecure: true in a container that is shielded otherwise`,
    );
  }
  const server = new TcpServer(env, options);
  const stopping = options.signals ? stopOnSignals(server, options.shutdownGrace ?? SHUTDOWN_GRACE_MS) : undefined;
  try {
    await server.start();
  } catch (error) {
    // A start that a signal broke off is no failure to report: the process is about to end.
    if (stopping?.aborted) await new Promise(() => {});
    throw error;
  }
  if (options.announce) process.stdout.write(`HUD_SERVE_PORT=${String(server.port)}\n`);
  return server;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

const SHUTDOWN_GRACE_MS = 10_000;
/** Connections that wait to be accepted: a burst of clients must not meet SYN retransmissions (TUN-5). */
const BACKLOG = 4096;

class TcpServer extends EventEmitter<ServerEvents> implements Server {
  readonly #env: Environment;
  readonly #options: ServeOptions;
  readonly #logger: Logger;
  readonly #sessions: Sessions;
  readonly #counter = new StreamCounter();
  readonly #connections = new Set<Connection>();
  readonly #listener: net.Server;
  readonly #stopped = new AbortController();
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(env: Environment, options: ServeOptions) {
    super();
    this.#env = env;
    this.#options = options;
    this.#logger = options.logger ?? consoleLogger();
    this.#sessions = new Sessions(env, {
      parkTtl: options.parkTtl ?? 3_600_000,
      resultTtl: options.resultTtl ?? 900_000,
      maxParked: options.maxParked ?? 1_000,
      cancelGrace: options.cancelGrace ?? 5_000,
      logger: this.#logger,
    });
    this.#listener = net.createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) => {
      void this.#accept(socket);
    });
  }

  get port(): number {
    return (this.#listener.address() as net.AddressInfo | null)?.port ?? 0;
  }

  get url(): string {
    const { host = "127.0.0.1" } = this.#options;
    return `tcp://${host.includes(":") ? `[${host}]` : host}:${String(this.port)}`;
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
    const { host = "127.0.0.1", port = 0 } = this.#options;
    this.#stopped.signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      this.#listener.once("error", (error: NodeJS.ErrnoException) => {
        reject(listenError(error, host, port));
      });
      this.#listener.listen({ host, port, backlog: BACKLOG }, resolve);
    });
    this.#listener.on("error", (error) => {
      this.#logger.log("error", "a connection could not be accepted", { error });
    });
  }

  async #accept(stream: ByteStream): Promise<void> {
    const { maxConnections = 10_000 } = this.#options;
    const connection = new Connection(stream, {
      env: this.#env,
      sessions: this.#sessions,
      logger: this.#logger,
      prefaceTimeout: this.#options.prefaceTimeout ?? 10_000,
      maxFrameBytes: this.#options.maxFrameBytes ?? MAX_FRAME_BYTES,
      dialTimeout: this.#options.dialTimeout ?? 10_000,
      halfCloseTimeout: this.#options.halfCloseTimeout ?? 120_000,
      onTunnel: (capability, tunnel) => {
        this.emit("stream:open", { capability });
        void this.#counter.count(capability, tunnel).then(() => {
          const { bytesForth, bytesBack } = tunnel;
          this.emit("stream:close", { capability, bytesForth, bytesBack });
        });
      },
    });
    if (this.#connections.size >= maxConnections) {
      await connection.refuseForCapacity(maxConnections);
      return;
    }
    this.#connections.add(connection);
    await connection.run();
    this.#connections.delete(connection);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { shutdownGrace = SHUTDOWN_GRACE_MS } = this.#options;
    this.#stopped.abort(new EnvportError("closed", "Cannot go on as the server was closed"));
    const listenerClosed = this.#closeListener();
    if (!(await within(this.#stop(), shutdownGrace))) {
      this.#logger.log("warn", "stopping took too long; what was left is abandoned", { graceMs: shutdownGrace });
    }
    for (const connection of this.#connections) connection.abort();
    await listenerClosed;
  }

  async #closeListener(): Promise<void> {
    if (!this.#listener.listening) return;
    await new Promise<void>((resolve) => this.#listener.close(() => { resolve(); }));
  }

  /** Tasks first, while the services that their clean-up needs are still up. */
  async #stop(): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#sessions.stop();
    for (const connection of this.#connections) connection.finish();
    for (const error of await this.#env.stop()) this.#logger.log("error", "stopping failed in part", { error });
  }
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): EnvportError {
  const where = `${host}:${String(port)}`;
  if (error.code === "EADDRINUSE") {
    return new EnvportError("address-in-use", `Cannot listen on ${where} as another program does (EADDRINUSE): choose another port, or 0 for any`, { cause: error });
  }
  return new EnvportError("service-failed", `Cannot listen on ${where}: ${error.code ?? error.message}`, { cause: error });
}

/** Closes the server on the first signal and ends the process; it is gone within the grace, or at the next signal. */
function stopOnSignals(server: TcpServer, graceMs: number): AbortSignal {
  const stopping = new AbortController();
  const onSignal = (): void => {
    if (stopping.signal.aborted) process.exit(FORCED_EXIT_CODE);
    stopping.abort();
    setTimeout(() => process.exit(FORCED_EXIT_CODE), graceMs).unref();
    void server.close().then(() => process.exit(0));
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  return stopping.signal;
}

/** 128 + SIGTERM: the process was ended before it had cleaned up. */
const FORCED_EXIT_CODE = 143;
