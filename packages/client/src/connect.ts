import { setTimeout as sleep } from "node:timers/promises";
import type { AbortOptions, JsonObject, Logger } from "@envport/wire";
import { EnvportError, ProtocolError, consoleLogger } from "@envport/wire";
import { ControlConnection } from "./_control_connection.ts";
import { parseEndpoint } from "./_dial.ts";
import { isTransient } from "./_retry.ts";
import { Client } from "./client.ts";

/** Options of {@linkcode connect}; times are in milliseconds. */
export interface ConnectOptions extends AbortOptions {
  /**
   * How long to wait for an environment that does not answer yet (CLI-1).
   *
   * @default {240000}
   */
  readyTimeout?: number;
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
  /** Receives what tasks report while they run (TASK-10). */
  onProgress?: (message: string, fraction: number | undefined) => void;
  /** @default {consoleLogger()} */
  logger?: Logger;
}

const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 1_000;
/** How long one try may hang: something accepts connections where no environment answers yet. */
const TRY_TIMEOUT_MS = 10_000;
/** How long a resumed session may still have its old connection. */
const LIVE_SESSION_MS = 10_000;

/**
 * Connects to a served environment, waiting until it answers: refused, closed and reset connections all mean "not ready
 * yet", an error frame is final (CLI-1).
 *
 * @param url `tcp://host:port`; the scheme may be left out, the port is 8765 if absent.
 * @param options Times, the session to resume, the route.
 * @throws {ProtocolError} What the environment answered to `hello`, for example that a session is unknown.
 * @throws {EnvportError} If nothing answers in time (`not-ready`), or what answers is no environment
 *   (`protocol-violation`).
 * @throws {TypeError} If the url cannot be read.
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
  const endpoint = parseEndpoint(url);
  const { readyTimeout = 240_000, sessionId, onProgress } = options;
  const base: JsonObject = { replay: true, ...(onProgress ? { progress: true } : {}) };
  const open = (hello: JsonObject, { signal }: AbortOptions): Promise<ControlConnection> =>
    untilReady(endpoint.url, readyTimeout, signal, (trySignal) =>
      ControlConnection.open(endpoint, {
        hello: { ...base, ...hello },
        signal: trySignal,
        maxFrameBytes: options.maxFrameBytes,
        onNotification: (method, params) => {
          if (method === "tasks.progress") reportProgress(params, onProgress);
        },
      }),
    );
  const resumed = sessionId !== undefined;
  const connection = await open(resumed ? { session_id: sessionId } : {}, options);
  const client = new Client(
    {
      endpoint,
      reconnect: (id, resumeOptions) =>
        untilFree(() => open({ session_id: id, takeover: true }, resumeOptions), resumeOptions.signal),
      heartbeatInterval: options.heartbeatInterval ?? 120_000,
      route: options.route ?? "tunnel",
      logger: options.logger ?? consoleLogger(),
      resumed,
    },
    connection,
  );
  await client.attach();
  return client;
}

function reportProgress({ message, fraction }: JsonObject, onProgress: ConnectOptions["onProgress"]): void {
  onProgress?.(String(message), typeof fraction === "number" ? fraction : undefined);
}

/** Tries until the environment answers, with growing pauses. */
async function untilReady<T>(
  url: string,
  readyTimeout: number,
  signal: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + readyTimeout;
  for (let delay = FIRST_DELAY_MS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MS)) {
    const left = deadline - performance.now();
    const timeout = AbortSignal.timeout(Math.ceil(Math.max(1, Math.min(TRY_TIMEOUT_MS, left))));
    try {
      return await attempt(AbortSignal.any(signal ? [signal, timeout] : [timeout]));
    } catch (error) {
      signal?.throwIfAborted();
      if (!timeout.aborted && !isTransient(error)) throw error;
      if (performance.now() + delay >= deadline) throw notReady(url, readyTimeout, error);
      await sleep(delay, undefined, signal ? { signal } : {});
    }
  }
}

/** A server that knows no takeover frees a session only once it has missed the old connection. */
async function untilFree<T>(attempt: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const deadline = performance.now() + LIVE_SESSION_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const live = error instanceof ProtocolError && error.message.includes("has a live connection");
      if (!live || performance.now() > deadline) throw error;
      await sleep(LONGEST_DELAY_MS / 4, undefined, signal ? { signal } : {});
    }
  }
}

function notReady(url: string, readyTimeout: number, cause: unknown): EnvportError {
  const { code, message } = cause as { code?: unknown; message: string };
  const last = typeof code === "string" ? code : message;
  const seconds = String(readyTimeout / 1000);
  return new EnvportError(
    "not-ready",
    `Cannot connect to ${url} as no environment answered within ${seconds} s (last: ${last}): is it served there?`,
    { cause },
  );
}
