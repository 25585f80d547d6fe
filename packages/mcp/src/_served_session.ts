import type { JSONRPCMessage, MessageExtraInfo, RequestId, Transport } from "@modelcontextprotocol/server";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Events } from "./_event_store.ts";
import { respond, toWebRequest } from "./_respond.ts";
import type { ConnectableServer } from "./mcp_service_options.ts";

/** What a session needs. */
export interface ServedSessionOptions {
  readonly id: string;
  readonly events: Events;
  /** After how many milliseconds without a request or an open stream it ends. */
  readonly ttl: number;
  /** Called once, when it has ended. */
  readonly onEnd: (session: ServedSession) => void;
  readonly onError: (error: Error) => void;
}

/** One session over HTTP: a server of its own, and the time since anybody was there. */
export class ServedSession {
  readonly id: string;
  readonly #options: ServedSessionOptions;
  readonly #server: ConnectableServer;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  #open = 0;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  private constructor(server: ConnectableServer, options: ServedSessionOptions) {
    this.id = options.id;
    this.#server = server;
    this.#options = options;
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => options.id,
      eventStore: options.events.of(options.id),
      retryInterval: RETRY_MS,
    });
  }

  /**
   * Connects a server to a session that waits for its first request.
   *
   * @throws What the server throws.
   */
  static async open(server: ConnectableServer, options: ServedSessionOptions): Promise<ServedSession> {
    const session = new ServedSession(server, options);
    await connectServer(server, session.#transport, options.onError);
    chain(session.#transport, () => session.#end());
    const onmessage = session.#transport.onmessage;
    session.#transport.onmessage = (message, extra) => {
      onmessage?.(message, extra);
      session.#noticeCancelled(message);
    };
    session.#arm();
    return session;
  }

  /** Whether nobody is there: no request is being answered and no stream is open. */
  get isQuiet(): boolean {
    return this.#open === 0;
  }

  /** Whether it began. */
  get isInitialized(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  /** Answers a request. */
  async handle(request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void> {
    this.#open++;
    clearTimeout(this.#timer);
    response.once("close", () => {
      this.#open--;
      this.#arm();
    });
    // A client that opens its stream anew knows better than we do that the old one is dead.
    if (request.method === "GET" && request.headers["last-event-id"] === undefined) {
      this.#transport.closeStandaloneSSEStream();
    }
    await respond(response, await this.#transport.handleRequest(toWebRequest(request), { parsedBody: body }));
  }

  /** Ends it: its streams and whatever its server is doing. Idempotent. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  /**
   * A server does not answer what was cancelled, and the library would keep its stream, and the connection, for the rest
   * of the session. An error ends it; the client waits for nothing any more.
   */
  #noticeCancelled(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    const { requestId: id } = (message.params ?? {}) as { requestId?: RequestId };
    if (id === undefined) return;
    const answer = { jsonrpc: "2.0" as const, id, error: { code: CANCELLED, message: "Request cancelled" } };
    // Which fails if it has been answered before.
    setImmediate(() => void this.#transport.send(answer).catch(() => undefined));
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#ended || this.#open > 0) return;
    this.#timer = setTimeout(() => void this.close(), this.#options.ttl).unref();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#options.events.forget(this.id);
    this.#options.onEnd(this);
    this.#server.close().catch(this.#options.onError);
  }
}

/** Of JSON-RPC, as the language server protocol has it. */
const CANCELLED = -32_800;
/** What clients are told to wait before they ask for a broken stream again. */
const RETRY_MS = 500;

/**
 * Connects a server of either generation of the library: those of the first look for the request's headers in another
 * place.
 */
export async function connectServer(
  server: ConnectableServer,
  transport: Transport,
  onError: (error: Error) => void,
): Promise<void> {
  await server.connect(transport as never);
  const onerror = transport.onerror?.bind(transport);
  transport.onerror = (error) => {
    onerror?.(error);
    onError(error);
  };
  const onmessage = transport.onmessage?.bind(transport);
  transport.onmessage = (message, extra) => onmessage?.(message, withRequestInfo(extra));
}

/** Calls a function when a transport has closed, after the server has been told. */
export function chain(transport: Transport, onClose: () => void): void {
  const onclose = transport.onclose?.bind(transport);
  transport.onclose = () => {
    onclose?.();
    onClose();
  };
}

function withRequestInfo(extra: MessageExtraInfo | undefined): MessageExtraInfo | undefined {
  if (!extra?.request) return extra;
  const { headers, url } = extra.request;
  const requestInfo = { headers: Object.fromEntries(headers), url: new URL(url) };
  return { ...extra, requestInfo } as MessageExtraInfo;
}
