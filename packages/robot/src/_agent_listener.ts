import { SOCKET_OPTIONS } from "@envport/wire";
import { once } from "node:events";
import { createServer, STATUS_CODES } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { RawData, WebSocket } from "ws";
import { readClaim } from "./_action_frame.ts";
import { CLOSE, Driver } from "./_driver.ts";
import { publicText } from "./_public_text.ts";
import type { RobotHost } from "./_robot_host.ts";
import type { RobotBridgeOptions } from "./robot_bridge_options.ts";

/** Where to listen. */
export type ListenTarget = { readonly path: string } | { readonly host: string; readonly port: number };

const CLAIM_MS = 30_000;
const MAX_ACTION_BYTES = 1024 * 1024;
/** Connections beside one for each slot: those that are being refused, and those that come back. */
const SPARE_CONNECTIONS = 64;
const CLOSE_MS = 500;

/** Listens for agents of a bridge, and leads each to its slot. */
export class AgentListener {
  readonly #host: RobotHost;
  readonly #options: RobotBridgeOptions;
  readonly #server = createServer(SOCKET_OPTIONS);
  readonly #sockets = new Set<Socket>();
  readonly #wss: WebSocketServer;

  constructor(host: RobotHost, options: RobotBridgeOptions) {
    this.#host = host;
    this.#options = options;
    // Compression costs ten times what the rest of a step does, and pings would end a session that a long step holds up.
    this.#wss = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      clientTracking: false,
      maxPayload: options.maxActionBytes ?? MAX_ACTION_BYTES,
    });
    this.#server.maxConnections = host.numEnvs + SPARE_CONNECTIONS;
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("request", (_, response) => response.writeHead(426, { connection: "close" }).end());
    this.#server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgrade(request, socket, head);
    });
  }

  /**
   * @returns The port, if it is one.
   * @throws {Error} `EADDRINUSE`, …
   */
  async listen(target: ListenTarget): Promise<number | undefined> {
    this.#server.listen({ ...target, backlog: 4096 });
    await once(this.#server, "listening");
    this.#server.on("error", (error) => this.#host.log("the listener failed", error));
    const address = this.#server.address() as AddressInfo | string;
    return typeof address === "string" ? undefined : address.port;
  }

  /** Stops listening; connections have half a second to end. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    const timer = setTimeout(() => this.#sockets.forEach((socket) => socket.destroy()), CLOSE_MS);
    await closed;
    clearTimeout(timer);
  }

  /** Programs say no origin. A web page does, and must not drive a robot. */
  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (request.headers.origin === undefined) {
      this.#wss.handleUpgrade(request, socket, head, (ws) => this.#serve(ws));
      return;
    }
    socket.on("error", () => socket.destroy());
    socket.end(`HTTP/1.1 403 ${STATUS_CODES[403]!}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  }

  /** Metadata, claim, first observation, and from then on actions. */
  #serve(ws: WebSocket): void {
    const driver = new Driver(ws);
    const timeout = this.#options.claimTimeout ?? CLAIM_MS;
    const timer = setTimeout(() => {
      driver.refuse(`Cannot wait for the claim longer than ${String(timeout)} ms`);
    }, timeout);
    ws.on("message", (data, isBinary) => {
      if (driver.ended) return;
      if (!isBinary) this.#refuse(driver, "Cannot take a text frame as frames must be binary");
      else if (driver.slot !== undefined) this.#host.act(driver, data as Buffer);
      else {
        clearTimeout(timer);
        this.#claim(driver, data);
      }
    });
    ws.on("error", (error) => this.#refuse(driver, publicText(error)));
    ws.once("close", () => {
      clearTimeout(timer);
      this.#host.drop(driver);
    });
    driver.send(this.#host.metadata);
  }

  #claim(driver: Driver, data: RawData): void {
    try {
      this.#host.dial(driver, readClaim(data as Buffer));
    } catch (error) {
      driver.refuse(publicText(error), CLOSE.internal);
    }
  }

  #refuse(driver: Driver, text: string): void {
    this.#host.drop(driver);
    driver.refuse(text);
  }
}
