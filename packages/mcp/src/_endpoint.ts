import type { Logger } from "@envport/wire";
import { isInitializeRequest } from "@modelcontextprotocol/server";
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, ListenOptions } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Refusal } from "./_gate.ts";
import { Gate } from "./_gate.ts";
import { BodyError, readJson } from "./_read_json.ts";
import { chain, connectServer } from "./_served_session.ts";
import { NoRoomError, Sessions } from "./_sessions.ts";
import { MAX_PAYLOAD, SUBPROTOCOL, WebSocketTransport } from "./_web_socket_transport.ts";
import type { ConnectableServer, ServerFactory } from "./mcp_service_options.ts";

/** How long connections may take to go when the endpoint closes. */
const CLOSE_MS = 1_000;
const SWEEP_MS = 10;
/** Longer than clients keep unused connections, so that none is closed as it is used again. */
const KEEP_ALIVE_MS = 75_000;
const TRY_LATER = 1013;

/** Options of {@linkcode Endpoint}. */
export interface EndpointOptions {
  readonly server: ConnectableServer | ServerFactory;
  readonly path: string;
  readonly authToken: string | undefined;
  readonly allowedHostnames: readonly string[];
  readonly sessionTtl: number;
  readonly maxSessions: number;
  readonly maxMessageBytes: number;
  readonly logger: Logger;
}

/** An HTTP server with one path: MCP over streamable HTTP, and over WebSocket where a client asks for that. */
export class Endpoint {
  readonly sessions: Sessions;
  /** Resolves to what went wrong with the listener, or to undefined when it is closed. */
  readonly closed: Promise<Error | undefined>;
  readonly #options: EndpointOptions;
  readonly #gate: Gate;
  readonly #http: Server;
  readonly #sockets: WebSocketServer;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.sessions = new Sessions({ ...options, ttl: options.sessionTtl });
    this.#gate = new Gate(options);
    this.#http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, noDelay: true });
    this.closed = new Promise((resolve) => {
      this.#http.once("close", () => resolve(undefined));
      this.#http.on("error", resolve);
    });
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: Math.min(options.maxMessageBytes, MAX_PAYLOAD),
      perMessageDeflate: false,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
    this.#http.on("request", (request, response) => void this.#onRequest(request, response));
    this.#http.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head));
  }

  /**
   * @returns The port, if it is one.
   * @throws {Error} `EADDRINUSE`, …
   */
  async listen(target: ListenOptions): Promise<number | undefined> {
    this.#http.listen({ ...target, backlog: 4_096 });
    await once(this.#http, "listening");
    const address = this.#http.address() as AddressInfo | string;
    return typeof address === "string" ? undefined : address.port;
  }

  /** Ends every session, then every connection. */
  async close(): Promise<void> {
    const closed = this.#http.listening ? once(this.#http, "close") : undefined;
    this.#http.close();
    const timer = setTimeout(() => this.#http.closeAllConnections(), CLOSE_MS);
    await this.sessions.close();
    // A connection is idle once the end of its last answer is sent.
    const sweep = setInterval(() => this.#http.closeIdleConnections(), SWEEP_MS);
    await closed;
    clearInterval(sweep);
    clearTimeout(timer);
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that goes away while it is answered is no error of ours.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    try {
      const refusal = this.#gate.check(request);
      if (refusal) refuse(response, refusal);
      else await this.#route(request, response);
    } catch (error) {
      refuse(response, this.#describe(error));
    }
  }

  #describe(error: unknown): Refusal {
    if (error instanceof BodyError) return error;
    if (error instanceof NoRoomError) return { status: 503, message: error.message };
    this.#options.logger.log("error", "an MCP request failed", { error });
    return { status: 500, message: "Internal server error" };
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, headers } = request;
    const id = headers["mcp-session-id"];
    const body = method === "POST" ? await readJson(request, this.#options.maxMessageBytes) : undefined;
    if (typeof id !== "string") {
      if (isInitializeRequest(body)) await this.#begin(request, response, body);
      else refuse(response, noSession(method));
      return;
    }
    const session = this.sessions.get(id);
    const lastEventId = headers["last-event-id"];
    const isResumed = method === "GET" && typeof lastEventId === "string";
    if (!session) refuse(response, { status: 404, code: -32_001, message: "Session not found" });
    else if (isResumed && !this.sessions.events.knows(id, lastEventId)) {
      refuse(response, { status: 400, message: "The events after this one are not kept any more" });
    } else await session.handle(request, response, body);
  }

  /** A session begins with the request that asks for it; one that is refused leaves none. */
  async #begin(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const session = await this.sessions.open();
    await session.handle(request, response, body);
    if (!session.isInitialized) await session.close();
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => undefined);
    const refusal = this.#gate.check(request);
    if (refusal) {
      const bearer = refusal.status === 401 ? "WWW-Authenticate: Bearer\r\n" : "";
      const line = `HTTP/1.1 ${String(refusal.status)} ${refusal.message.split(":", 1)[0]!}`;
      socket.end(`${line}\r\nConnection: close\r\nContent-Length: 0\r\n${bearer}\r\n`);
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (ws) => {
      const transport = new WebSocketTransport(ws);
      const connect = async (server: ConnectableServer, onClose: () => void): Promise<WebSocketTransport> => {
        await connectServer(server, transport, () => undefined);
        chain(transport, onClose);
        return transport;
      };
      this.sessions.attach(connect).catch((error: unknown) => {
        const isFull = error instanceof NoRoomError;
        if (!isFull) this.#options.logger.log("error", "an MCP session could not begin", { error });
        ws.resume();
        ws.close(TRY_LATER, isFull ? error.message.slice(0, 120) : "Internal server error");
      });
    });
  }
}

function noSession(method: string | undefined): Refusal {
  return method === "POST" || method === "GET" || method === "DELETE"
    ? { status: 400, message: "Bad Request: the header Mcp-Session-Id is required" }
    : { status: 405, message: "Method not allowed" };
}

function refuse(response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, message, code = -32_000 } = refusal;
  const headers = {
    "content-type": "application/json",
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...(status === 405 ? { allow: "GET, POST, DELETE" } : {}),
    // The rest of a body that is too long is not read.
    ...(status === 413 ? { connection: "close" } : {}),
  };
  response.writeHead(status, headers);
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}
