import { Client } from "@modelcontextprotocol/client";
import type { Notification, Transport } from "@modelcontextprotocol/client";
import { EnvportError } from "@envport/wire";
import { HttpTransport } from "./_http_transport.ts";
import type { McpTarget } from "./_mcp_target.ts";
import { openWebSocket } from "./_open_web_socket.ts";
import { SseTransport } from "./_sse_transport.ts";
import type { McpConnectOptions } from "./mcp_client_options.ts";

const CONNECT_MS = 30_000;
/** How long the server may take to note that a session is over. */
const GOODBYE_MS = 2_000;

/** What a session needs to know. */
export interface SessionOptions extends McpConnectOptions {
  onNotification(notification: Notification): void;
}

/** One MCP session: initialised when it is there, over once its transport has closed. */
export class ClientSession {
  readonly client: Client;
  readonly #transport: Transport;
  #underWay = 0;
  #retired = false;
  #over = false;

  private constructor(client: Client, transport: Transport) {
    this.client = client;
    this.#transport = transport;
    client.onclose = () => (this.#over = true);
  }

  /**
   * Opens a session.
   *
   * @throws {EnvportError} `timeout`; else what the library throws.
   */
  static async open(target: McpTarget, options: SessionOptions): Promise<ClientSession> {
    const { connectTimeout = CONNECT_MS, clientInfo = { name: "envport", version: "0.1.0" } } = options;
    const client = new Client(clientInfo, { capabilities: options.capabilities ?? {} });
    // What concerns a request is thrown by it; the rest is of no consequence: a late progress report, a stream that is
    // being opened again.
    client.onerror = () => undefined;
    client.fallbackNotificationHandler = (notification) => {
      options.onNotification(notification);
      return Promise.resolve();
    };
    options.setup?.(client);
    const deadline = new Deadline(connectTimeout, options.signal);
    let transport: Transport | undefined;
    try {
      const { signal } = deadline;
      transport = await makeTransport(target, signal);
      const session = new ClientSession(client, transport);
      const connecting = client.connect(transport, { timeout: connectTimeout + 1_000, signal });
      await deadline.race(connecting);
      return session;
    } catch (error) {
      void transport?.close().catch(() => undefined);
      throw deadline.signal.aborted ? deadline.signal.reason : error;
    } finally {
      deadline.clear();
    }
  }

  /** Whether no request can go through it any more. */
  get over(): boolean {
    return this.#over;
  }

  /** Whether sessions are the server's, so that it can forget one. */
  get canBeForgotten(): boolean {
    return this.#transport instanceof HttpTransport && this.#transport.sessionId !== undefined;
  }

  /** Makes a request; a session that has been retired meanwhile ends with its last one. */
  async run<T>(request: (client: Client) => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await request(this.client);
    } finally {
      this.#underWay--;
      this.#endIfIdle();
    }
  }

  /** Ends the session once nothing is under way in it: the server has forgotten it, but may still answer. */
  retire(): void {
    this.#retired = true;
    this.#endIfIdle();
  }

  /** Ends the session, also in the server. */
  async close(): Promise<void> {
    if (this.#transport instanceof HttpTransport && !this.#retired && !this.#over) {
      await this.#transport.sayGoodbye(GOODBYE_MS);
    }
    await this.client.close();
    await this.#transport.close();
  }

  #endIfIdle(): void {
    if (this.#retired && this.#underWay === 0) void this.close().catch(() => undefined);
  }
}

async function makeTransport(target: McpTarget, signal: AbortSignal): Promise<Transport> {
  switch (target.transport) {
    case "websocket":
      return await openWebSocket(target, signal);
    case "sse":
      return new SseTransport(target);
    case "streamable-http":
      return new HttpTransport(target);
  }
}

/** A time that runs out, and a signal that may come first. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #abort = (): void => this.#controller.abort(this.#outer?.reason);

  constructor(ms: number, outer: AbortSignal | undefined) {
    outer?.throwIfAborted();
    this.#outer = outer;
    outer?.addEventListener("abort", this.#abort, { once: true });
    this.#timer = setTimeout(() => {
      const message = `Cannot open MCP session as the server must answer within ${String(ms)} ms`;
      this.#controller.abort(new EnvportError("timeout", message));
    }, ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async race<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => undefined);
    const { signal } = this;
    const gone = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      if (signal.aborted) reject(signal.reason as Error);
    });
    return await Promise.race([promise, gone]);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#abort);
  }
}
