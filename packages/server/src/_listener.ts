import net from "node:net";
import type { EndpointUrl } from "@envport/wire";
import { EnvportError, SOCKET_OPTIONS, formatEndpointUrl } from "@envport/wire";
import { sourceOf } from "./_stage.ts";
import type { ListenerContext, Stage } from "./_stage.ts";
import { bindUnixSocket } from "./_unix_socket.ts";
import { tlsStage } from "./_tls_stage.ts";
import { webSocketStage } from "./_web_socket_stage.ts";

/** Connections that wait to be accepted: a burst of clients must not meet SYN retransmissions (TUN-5). */
const BACKLOG = 4096;
/** Connections in the middle of a handshake, on top of those that are served. */
const MAX_HANDSHAKES = 1024;

/** Listens at one address, and hands connections on as byte streams, whatever the transport (CONN-5). */
export class Listener {
  readonly #endpoint: EndpointUrl;
  readonly #context: ListenerContext;
  readonly #server: net.Server;
  #stage: Stage | undefined;
  #port: number | undefined;
  #unbind: () => Promise<void> = () => Promise.resolve();

  /**
   * @param endpoint The address; port 0 is any.
   * @param context Limits, and who takes the connections.
   */
  constructor(endpoint: EndpointUrl, context: ListenerContext) {
    this.#endpoint = endpoint;
    this.#context = context;
    const isPlain = endpoint.scheme === "tcp" || endpoint.scheme === "unix";
    // A handshake has to read; a connection without one must not be read before it has its owner.
    this.#server = net.createServer({ ...SOCKET_OPTIONS, pauseOnConnect: isPlain }, (socket) => {
      if (this.#stage) this.#stage.accept(socket);
      else context.onStream(socket, sourceOf(socket));
    });
    if (!isPlain) this.#server.maxConnections = context.maxConnections + MAX_HANDSHAKES;
  }

  /** The port that is bound; undefined for a unix socket. */
  get port(): number | undefined {
    return this.#port;
  }

  /** What a client connects to. */
  get url(): string {
    const endpoint = this.#endpoint;
    return formatEndpointUrl(
      endpoint.scheme === "unix" ? endpoint : { ...endpoint, port: this.#port ?? endpoint.port },
    );
  }

  /**
   * Binds the address.
   *
   * @throws {EnvportError} `address-in-use`, `service-failed`; `unsupported` if `ws` is not installed.
   */
  async listen(): Promise<void> {
    const { logger } = this.#context;
    this.#stage = await this.#makeStage();
    try {
      await this.#bind();
    } catch (error) {
      throw listenError(error as NodeJS.ErrnoException, this.url);
    }
    this.#server.on("error", (error) => {
      logger.log("error", "a connection could not be accepted", { error });
    });
  }

  async #makeStage(): Promise<Stage | undefined> {
    const { scheme } = this.#endpoint;
    const { onStream } = this.#context;
    const isSecure = scheme === "tls" || scheme === "wss";
    const inner =
      scheme === "ws" || scheme === "wss"
        ? await webSocketStage(this.#endpoint.path, this.#context)
        : { accept: (socket: net.Socket) => onStream(socket, sourceOf(socket)), close: () => {} };
    if (isSecure) return tlsStage(inner, this.#context);
    return scheme === "ws" ? inner : undefined;
  }

  async #bind(): Promise<void> {
    const endpoint = this.#endpoint;
    if (endpoint.scheme === "unix") {
      this.#unbind = await bindUnixSocket(this.#server, endpoint.path, BACKLOG);
      return;
    }
    const { host, port } = endpoint;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject).listen({ host, port, backlog: BACKLOG }, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    this.#port = (this.#server.address() as net.AddressInfo).port;
  }

  /** Takes no more connections, and ends those that are not handed on yet. Idempotent. */
  async close(): Promise<void> {
    this.#stage?.close();
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#unbind();
    await closed;
  }
}

function listenError(error: NodeJS.ErrnoException, where: string): Error {
  if (error instanceof EnvportError) return error;
  if (error.code === "EADDRINUSE") {
    return new EnvportError(
      "address-in-use",
      `Cannot listen on ${where} as another program does (EADDRINUSE): choose another address, or port 0 for any`,
      { cause: error },
    );
  }
  return new EnvportError("service-failed", `Cannot listen on ${where}: ${error.code ?? error.message}`, {
    cause: error,
  });
}
