import type { ByteStream } from "@envport/wire";
import { EnvportError } from "@envport/wire";
import { WebSocket } from "ws";
import { CdpError } from "./cdp_error.ts";

/** Chromium drops the connection of who sends more at once. */
const MAX_COMMAND_BYTES = 100_000_000;
/** Screenshots of large pages and results of evaluations. */
const MAX_MESSAGE_BYTES = 512 * 1024 * 1024;
/** After a command that had no answer in time: whether anything answers at all. */
const PONG_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 1_000;

interface Pending {
  readonly method: string;
  readonly sessionId: string | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

interface Incoming {
  id?: number;
  method?: string;
  params?: unknown;
  sessionId?: string;
  result?: unknown;
  error?: { code?: number; message?: string; data?: unknown };
}

/** Who hears of what comes without being asked for. */
export interface ConnectionListener {
  event(method: string, params: unknown, sessionId: string | undefined): void;
  /** The connection is over; every pending command has failed. */
  lost(error: EnvportError): void;
  /** What an error about a page that does not answer should say, such as that a dialog is open. */
  hint(sessionId: string | undefined): string;
}

/** How to open a connection. */
export interface ConnectionOptions {
  readonly timeout: number;
  /** Gives up the greeting. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: object;
  readonly servername?: string;
  /** The stream to speak over, in place of a connection to the URL. */
  readonly createConnection?: () => ByteStream;
}

/**
 * One socket to a browser, with the flat sessions on it.
 *
 * ```text
 * open ── close(), a reset, the browser's end, no pong ─▶ over
 * ```
 */
export class Connection {
  readonly #socket: WebSocket;
  readonly #listener: ConnectionListener;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #over: EnvportError | undefined;
  #probe: NodeJS.Timeout | undefined;

  private constructor(socket: WebSocket, listener: ConnectionListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket.on("message", (data: Buffer) => this.#receive(data));
    socket.on("pong", () => clearTimeout(this.#probe));
    socket.on("error", () => undefined);
    socket.on("close", (code) =>
      this.#finish(lostError(`the connection to the browser is over (${String(code)})`)),
    );
  }

  /**
   * Opens a socket.
   *
   * @param url The browser's own, not a page's.
   * @throws {EnvportError} `timeout`, or `connection-lost` with what is known of the reason.
   */
  static open(
    url: string,
    listener: ConnectionListener,
    { timeout, signal, ...options }: ConnectionOptions,
  ): Promise<Connection> {
    const socket = new WebSocket(url, {
      ...(options as object),
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
      skipUTF8Validation: true,
      followRedirects: false,
    });
    return new Promise((resolve, reject) => {
      const fail = (error: EnvportError): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        socket.on("error", () => undefined).terminate();
        reject(error);
      };
      const abort = (): void => fail(signal!.reason as EnvportError);
      signal?.addEventListener("abort", abort);
      const timer = setTimeout(
        () =>
          fail(
            new EnvportError(
              "timeout",
              `Cannot connect as the browser did not greet within ${String(timeout)} ms`,
            ),
          ),
        timeout,
      );
      socket.once("error", (error) => fail(lostError(error.message, error)));
      socket.once("unexpected-response", (_, { statusCode }) =>
        fail(lostError(`the browser answered HTTP ${String(statusCode)} to the greeting`)),
      );
      socket.once("open", () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        socket.removeAllListeners();
        resolve(new Connection(socket, listener));
      });
    });
  }

  /** Whether it can be used. */
  get alive(): boolean {
    return this.#over === undefined;
  }

  /**
   * Sends a command and waits for its answer.
   *
   * @param sessionId The page; undefined is the browser.
   * @param timeout Milliseconds.
   * @throws {CdpError} `refused`, `too-large`, or what `failSession` was given.
   * @throws {EnvportError} `timeout`, `connection-lost`, `closed`
   */
  send(
    method: string,
    params: object | undefined,
    sessionId: string | undefined,
    timeout: number,
    signal?: AbortSignal,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#over) {
        reject(this.#over);
        return;
      }
      const id = ++this.#lastId;
      const text = JSON.stringify({ id, method, params: params ?? {}, sessionId });
      // A character takes at most three bytes.
      if (text.length > MAX_COMMAND_BYTES / 3 && Buffer.byteLength(text) > MAX_COMMAND_BYTES) {
        reject(
          new CdpError(
            "too-large",
            `Cannot send ${method} as it must have at most ${String(MAX_COMMAND_BYTES)} bytes: current value is ${String(Buffer.byteLength(text))}`,
          ),
        );
        return;
      }
      const timer = setTimeout(() => this.#late(id, timeout), timeout);
      const pending = { method, sessionId, resolve, reject, timer };
      this.#pending.set(id, signal ? this.#abortable(id, pending, signal) : pending);
      this.#socket.send(text);
    });
  }

  /** Fails what is pending for a page, which will never answer. */
  failSession(sessionId: string, error: (method: string) => Error): void {
    for (const [id, { method, sessionId: its }] of this.#pending) {
      if (its === sessionId) this.#settle(id)?.reject(error(method));
    }
  }

  /** Ends it; what is pending fails with `closed`. */
  async close(): Promise<void> {
    if (this.#over) return;
    const socket = this.#socket;
    const closed = new Promise((resolve) => socket.once("close", resolve));
    this.#finish(new EnvportError("closed", "Cannot go on as the browser's client was closed"));
    socket.close();
    const timer = setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS);
    await closed;
    clearTimeout(timer);
  }

  #abortable(id: number, pending: Pending, signal: AbortSignal): Pending {
    const abort = (): void => this.#settle(id)?.reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    const done = (): void => signal.removeEventListener("abort", abort);
    return {
      ...pending,
      resolve: (result) => {
        done();
        pending.resolve(result);
      },
      reject: (error) => {
        done();
        pending.reject(error);
      },
    };
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    return pending;
  }

  #late(id: number, timeout: number): void {
    const pending = this.#settle(id);
    pending?.reject(
      new EnvportError(
        "timeout",
        `Cannot wait on for ${pending.method} as it was not answered within ${String(timeout)} ms${this.#listener.hint(pending.sessionId)}`,
      ),
    );
    clearTimeout(this.#probe);
    this.#socket.ping();
    this.#probe = setTimeout(() => {
      this.#finish(lostError("the browser does not answer any more"));
      this.#socket.terminate();
    }, PONG_TIMEOUT_MS);
    this.#probe.unref();
  }

  #receive(data: Buffer): void {
    const message = parse(data);
    if (!message) {
      this.#finish(lostError("what the browser says is no JSON"));
      this.#socket.terminate();
      return;
    }
    const { id, method, params, sessionId, result, error } = message;
    if (id === undefined) {
      if (method !== undefined) this.#listener.event(method, params, sessionId);
      return;
    }
    const pending = this.#settle(id);
    if (!pending) return;
    if (error) pending.reject(refusal(pending.method, error));
    else pending.resolve(result);
  }

  #finish(error: EnvportError): void {
    if (this.#over) return;
    this.#over = error;
    clearTimeout(this.#probe);
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(error);
    this.#listener.lost(error);
  }
}

function parse(data: Buffer): Incoming | undefined {
  try {
    return JSON.parse(data.toString("utf8")) as Incoming;
  } catch {
    return undefined;
  }
}

function refusal(
  method: string,
  { code, message = "no reason given", data }: NonNullable<Incoming["error"]>,
): CdpError {
  const more = typeof data === "string" && data !== "" ? `: ${data}` : "";
  return new CdpError("refused", `Cannot do ${method} as the browser refuses it: ${message}${more}`, {
    protocolCode: code,
  });
}

function lostError(why: string, cause?: Error): EnvportError {
  return new EnvportError("connection-lost", `Cannot go on as ${why}`, { cause });
}
