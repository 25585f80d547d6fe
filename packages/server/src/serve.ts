import type { EventEmitter } from "node:events";
import type { StreamStats } from "./_stream_counter.ts";
import { ControlServer } from "./_control_server.ts";
import { resolveEndpoints } from "./_endpoints.ts";
import type { AccessTokens } from "./access_tokens.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";

/** Options of {@linkcode serve}; times are in milliseconds. */
export interface ServeOptions {
  /**
   * Addresses to listen at, in place of `host` and `port` (CONN-5): `tcp://host:port`, `tls://…`, `ws://host:port/path`,
   * `wss://…`, `unix:///path`. Port 0 = any that is free. `ws` and `wss` need the package `ws`.
   */
  listen?: string | readonly string[] | undefined;
  /** The server's key and certificate, for `tls://` and `wss://`. */
  tls?: ServerTlsOptions | undefined;
  /**
   * Who may come in (SESS-10): with it, the first frame of a connection must carry a token.
   *
   * @default everyone who reaches the address
   */
  tokens?: AccessTokens | undefined;
  /**
   * Origins of web pages that may open a WebSocket, such as `https://viewer.example`. All others are refused.
   *
   * @default {[]}
   */
  allowedOrigins?: readonly string[] | undefined;
  /**
   * Address to bind. Anything but loopback needs `tokens`, client certificates, or `insecure` (CONN-6).
   *
   * @default {"127.0.0.1"}
   */
  host?: string | undefined;
  /**
   * Port to bind; 0 = any that is free.
   *
   * @default {0}
   */
  port?: number | undefined;
  /**
   * Serve everyone who can reach a host that is not loopback: whoever can, can run and grade tasks.
   *
   * @default {false}
   */
  insecure?: boolean | undefined;
  /**
   * Print `HUD_SERVE_PORT=<port>` on standard output once bound; launchers read it (CONN-6).
   *
   * @default {false}
   */
  announce?: boolean | undefined;
  /**
   * Stop on SIGTERM and SIGINT and end the process; a second signal ends it at once.
   *
   * @default {false}
   */
  signals?: boolean | undefined;
  /** @default {10000} */
  maxConnections?: number | undefined;
  /** @default {16777216} */
  maxFrameBytes?: number | undefined;
  /**
   * How long a connection may take for its first frame (CONN-3).
   *
   * @default {10000}
   */
  prefaceTimeout?: number | undefined;
  /**
   * How long the daemon of a tunnel may take to accept (TUN-5).
   *
   * @default {10000}
   */
  dialTimeout?: number | undefined;
  /**
   * How long a half-closed tunnel may be silent; 0 = for ever (TUN-3).
   *
   * @default {120000}
   */
  halfCloseTimeout?: number | undefined;
  /**
   * How long a parked task is kept (SESS-7).
   *
   * @default {3600000}
   */
  parkTtl?: number | undefined;
  /**
   * How many parked sessions are kept (SESS-7).
   *
   * @default {1000}
   */
  maxParked?: number | undefined;
  /**
   * How long an evaluation is kept for whoever lost it (SESS-6).
   *
   * @default {900000}
   */
  resultTtl?: number | undefined;
  /**
   * How long a cancelled task may ignore its signal (TASK-8).
   *
   * @default {5000}
   */
  cancelGrace?: number | undefined;
  /**
   * How long stopping may take (TASK-11).
   *
   * @default {10000}
   */
  shutdownGrace?: number | undefined;
  /** @default {consoleLogger()} */
  logger?: Logger | undefined;
}

/** Keys of a server, in PEM form (CONN-5). */
export interface ServerTlsOptions {
  readonly key: string | Buffer;
  /** The certificate, and those between it and the authority. */
  readonly cert: string | Buffer;
  /** The authority of the clients' certificates: with it, a client must have one. */
  readonly ca?: string | Buffer | undefined;
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

/** What a server tells: about its tunnels (TUN-6), and that it has stopped. */
export interface ServerEvents {
  close: [];
  "stream:open": [event: { capability: string }];
  "stream:close": [event: { capability: string; bytesForth: number; bytesBack: number }];
}

/** A server that is listening. */
export interface Server extends EventEmitter<ServerEvents> {
  /** The port that it listens on, the first if there are several; 0 if there is none, but a unix socket. */
  readonly port: number;
  /** What a client connects to: `tcp://127.0.0.1:8765`; the first if there are several. */
  readonly url: string;
  /** All addresses, in the order of `listen`. */
  readonly urls: readonly string[];
  /** The figures of now. */
  stats(): ServerStats;
  /** Stops (TASK-11): no new connection, every task cancelled and cleaned up, hooks and services stopped. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts an environment's services and serves it on one port.
 *
 * @param env What to serve.
 * @param options Address, limits and times.
 * @returns The server, once the port is bound.
 * @throws {EnvportError} If a service or hook fails (`service-failed`) or the address is taken (`address-in-use`); what
 *   had started is stopped again.
 * @throws {TypeError} If an address is not loopback and neither `tokens`, nor client certificates, nor `insecure` are set;
 *   if a token is empty or cannot be read.
 * @throws {RangeError} If a number among the options makes no sense.
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
  const server = new ControlServer(env, resolveEndpoints(options), options);
  const signals = options.signals ? new SignalStop(server) : undefined;
  try {
    await server.start();
  } catch (error) {
    // A start that a signal broke off is no failure to report: the process is about to end.
    if (signals?.stopping) await new Promise(() => {});
    signals?.stopListening();
    throw error;
  }
  if (options.announce) process.stdout.write(`HUD_SERVE_PORT=${String(server.port)}\n`);
  return server;
}

/** Closes a server on the first signal and ends the process; it is gone within the grace, or at the next signal. */
class SignalStop {
  readonly #server: ControlServer;
  stopping = false;

  constructor(server: ControlServer) {
    this.#server = server;
    server.once("close", this.stopListening);
    process.on("SIGTERM", this.#onSignal).on("SIGINT", this.#onSignal);
  }

  readonly stopListening = (): void => {
    if (!this.stopping) process.off("SIGTERM", this.#onSignal).off("SIGINT", this.#onSignal);
  };

  readonly #onSignal = (): void => {
    if (this.stopping) process.exit(FORCED_EXIT_CODE);
    this.stopping = true;
    setTimeout(() => process.exit(FORCED_EXIT_CODE), this.#server.shutdownGrace).unref();
    void this.#server.close().then(() => process.exit(0));
  };
}

/** 128 + SIGTERM: the process was ended before it had cleaned up. */
const FORCED_EXIT_CODE = 143;
