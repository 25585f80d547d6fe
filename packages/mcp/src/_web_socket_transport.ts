import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isJsonObject } from "@envport/wire";
import { WebSocket } from "ws";

/** The subprotocol of MCP over WebSocket. */
export const SUBPROTOCOL: string = "mcp";
/** Longest message in either direction. */
export const MAX_PAYLOAD: number = 256 * 1024 * 1024;

const PING_MS = 15_000;
const CLOSE_MS = 1_000;
const NORMAL = 1000;
const TEXT_ONLY = 1003;

/**
 * One MCP session over one WebSocket, for either side: a JSON text frame is a message. What the other side sends before
 * `start` waits in the socket. A side that answers no ping is given up. There is no resuming: what was under way when the
 * socket goes fails.
 */
export class WebSocketTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: NonNullable<Transport["onmessage"]> | undefined;
  readonly #socket: WebSocket;
  #pings: NodeJS.Timeout | undefined;
  #alive = true;
  #closed = false;

  /**
   * @param socket One that is open.
   */
  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.pause();
    socket
      .on("message", (data: Buffer, isBinary) => this.#receive(data, isBinary))
      .on("pong", () => (this.#alive = true))
      .on("error", (error) => this.onerror?.(error))
      .once("close", () => this.#finish());
  }

  async start(): Promise<void> {
    this.#pings = setInterval(() => this.#ping(), PING_MS).unref();
    this.#socket.resume();
    if (this.#socket.readyState === WebSocket.CLOSED) this.#finish();
    return Promise.resolve();
  }

  /** Resolves once the message is with the operating system: a reader that is slow slows the sender. */
  async send(message: JSONRPCMessage): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.send(JSON.stringify(message), (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** Closes in good order, and at once where the other side takes too long. */
  async close(): Promise<void> {
    if (this.#closed) return;
    const closed = new Promise<void>((resolve) => this.#socket.once("close", () => resolve()));
    this.#socket.resume();
    this.#socket.close(NORMAL);
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_MS);
    await closed;
    clearTimeout(timer);
    this.#finish();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.#socket.close(TEXT_ONLY, "text frames only");
      return;
    }
    try {
      const message: unknown = JSON.parse(data.toString());
      if (isJsonObject(message)) this.onmessage?.(message as unknown as JSONRPCMessage);
      else this.#refuse(-32600, "Invalid Request: a message must be one object");
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.#refuse(-32700, "Parse error");
    }
  }

  #refuse(code: number, message: string): void {
    this.#socket.send(
      JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } }),
      () => undefined,
    );
  }

  #ping(): void {
    if (!this.#alive) {
      this.#socket.terminate();
      return;
    }
    this.#alive = false;
    this.#socket.ping(() => undefined);
  }

  #finish(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#pings);
    this.onclose?.();
  }
}
