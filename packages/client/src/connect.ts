import type { AbortOptions, JsonObject, Logger, TokenSource } from "@envport/wire";
import { consoleLogger, own } from "@envport/wire";
import { ControlConnection } from "./_control_connection.ts";
import { parseEndpoint } from "./_dial.ts";
import { untilFree, untilReady } from "./_ready.ts";
import { Client } from "./client.ts";
import type { ClientTlsOptions } from "./client_tls_options.ts";

/** Options of {@linkcode connect}; times are in milliseconds. */
export interface ConnectOptions extends AbortOptions {
  /**
   * How long to wait for an environment that does not answer yet (CLI-1); it is tried at least once.
   *
   * @default {240000}
   */
  readyTimeout?: number;
  /** The token that the environment asks for (SESS-10). */
  token?: TokenSource;
  /** Certificates, for `tls://` and `wss://`. */
  tls?: ClientTlsOptions;
  /**
   * The url of an HTTP proxy; true: that of `HTTPS_PROXY`, unless `NO_PROXY` has the host or it is loopback; false: none.
   *
   * @default true for `wss://`, else false
   */
  proxy?: string | boolean;
  /** A parked session to resume instead of beginning a new one. */
  sessionId?: string;
  /**
   * How often to ask an idle environment whether it is there; 0 = never (CLI-7).
   *
   * @default {120000}
   */
  heartbeatInterval?: number;
  /**
   * Whether bindings on public addresses are used as they are (`"direct"`) or through the control port (CLI-3).
   *
   * @default {"tunnel"}
   */
  route?: "tunnel" | "direct";
  /**
   * Limit of one frame in both directions, in bytes.
   *
   * @default {16777216}
   */
  maxFrameBytes?: number;
  /** Receives what tasks report while they run (TASK-10); `fraction` is 0 to 1 where the task gives one. */
  onProgress?: (message: string, fraction: number | undefined) => void;
  /** @default {consoleLogger()} */
  logger?: Logger;
}

/**
 * Connects to a served environment, waiting until it answers: refused, closed and reset connections all mean "not ready
 * yet", an error frame is final (CLI-1).
 *
 * @param url `tcp://host:port`, `tls://host:port`, `ws://host:port/path`, `wss://…` or `unix:///path` (CONN-5). The scheme
 *   may be left out, the port is 8765 if absent, or 80 and 443 for `ws` and `wss`, which need the package `ws`.
 * @param options Times, token, certificates, the session to resume, the route.
 * @throws {ProtocolError} What the environment answered to `hello`, for example that a session is unknown, or that a token
 *   is missing or wrong (-32001).
 * @throws {EnvportError} If nothing answers in time (`not-ready`), or what answers is no environment
 *   (`protocol-violation`).
 * @throws {EnvportError} If the server's certificate is not the one that is wanted, or a proxy refuses
 *   (`authentication-failed`).
 * @throws {TypeError} If the url or the token cannot be read.
 * @throws {RangeError} If a time is negative or no number.
 *
 * @example
 * ```ts
 * import { connect } from "@envport/client";
 * import { Environment, serve } from "@envport/server";
 * import assert from "node:assert/strict";
 *
 * const env = new Environment({ name: "quiz" });
 * env.template("capital").run(async function* () {
 *   const answer = yield "What is the capital of Norway?";
 *   yield answer === "Oslo" ? 1 : 0;
 * });
 * const server = await serve(env);
 *
 * const client = await connect(server.url);
 * const task = await client.start("capital");
 * assert.equal((await task.grade("Oslo")).score, 1);
 * await client.close();
 * await server.close();
 * ```
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  const endpoint = parseEndpoint(url, options);
  const { signal, sessionId, onProgress } = options;
  const readyTimeout = checkTime("readyTimeout", options.readyTimeout ?? 240_000);
  const heartbeatInterval = checkTime("heartbeatInterval", options.heartbeatInterval ?? 120_000);
  const base: JsonObject = { replay: true, ...(onProgress ? { progress: true } : {}) };
  const openOnce = (hello: JsonObject, trySignal: AbortSignal): Promise<ControlConnection> =>
    ControlConnection.open(endpoint, {
      hello: { ...base, ...hello },
      signal: trySignal,
      maxFrameBytes: options.maxFrameBytes,
      onNotification: (method, params) => {
        if (method === "tasks.progress") reportProgress(params, onProgress);
      },
    });
  const open = (hello: JsonObject, openSignal: AbortSignal | undefined): Promise<ControlConnection> =>
    untilReady((trySignal) => openOnce(hello, trySignal), {
      url: endpoint.url,
      readyTimeout,
      signal: openSignal,
    });
  const resumed = sessionId !== undefined;
  const connection = await open(resumed ? { session_id: sessionId } : {}, signal);
  return await Client.attach(
    {
      endpoint,
      reconnect: (id, resumeSignal) =>
        untilFree(() => open({ session_id: id, takeover: true }, resumeSignal), resumeSignal),
      heartbeatInterval,
      route: options.route ?? "tunnel",
      logger: options.logger ?? consoleLogger(),
      resumed,
    },
    connection,
  );
}

function checkTime(name: string, value: number): number {
  if (value >= 0) return value;
  throw new RangeError(
    `Cannot connect as '${name}' must be a number of milliseconds, 0 or more: current value is ${String(value)}`,
  );
}

function reportProgress(params: JsonObject, onProgress: ConnectOptions["onProgress"]): void {
  const [message, fraction] = [own(params, "message"), own(params, "fraction")];
  if (typeof message !== "string") return;
  onProgress?.(message, typeof fraction === "number" ? fraction : undefined);
}
