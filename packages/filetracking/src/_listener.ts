import {
  ErrorCode,
  FramedStream,
  parseFrame,
  ProtocolError,
  readRequest,
  refuse,
  RpcServer,
  SOCKET_OPTIONS,
} from "@envport/wire";
import type { JsonObject, RequestMessage, RpcContext } from "@envport/wire";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
import type { Tracker } from "./_tracker.ts";
import { TRACKER_METHODS } from "./_tracker.ts";
import { FILE_TRACKING_LIMITS } from "./file_tracking_limits.ts";

/** Where to listen. */
export type ListenTarget = { readonly path: string } | { readonly host: string; readonly port: number };

/** A request has no parameters. */
const MAX_REQUEST_BYTES = 64 * 1024;
const MAX_CONNECTIONS = 64;
/** How long connections may take to go when the listener closes. */
const CLOSE_MS = 500;

/** Reads short lines and writes long ones. */
class ReplyStream extends FramedStream {
  override get maxFrameBytes(): number {
    return FILE_TRACKING_LIMITS.frameBytes;
  }
}

/** Serves `filetracking/1`: one tracker for all connections. */
export class Listener {
  readonly #tracker: Tracker;
  readonly #log: (message: string, error: unknown) => void;
  readonly #server = createServer(SOCKET_OPTIONS);
  readonly #sockets = new Set<Socket>();
  /** What to do if the reply to a request cannot be sent. */
  readonly #unsent = new WeakMap<RequestMessage, () => void>();

  constructor(tracker: Tracker, log: (message: string, error: unknown) => void) {
    this.#tracker = tracker;
    this.#log = log;
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      void this.#serve(socket).catch((error: unknown) => {
        this.#log("connection", error);
        socket.destroy();
      });
    });
  }

  /**
   * @returns The port, if it is one.
   * @throws {Error} `EADDRINUSE`, …
   */
  async listen(target: ListenTarget): Promise<number | undefined> {
    this.#server.listen({ ...target, backlog: 4096 });
    await once(this.#server, "listening");
    this.#server.on("error", (error) => this.#log("listener", error));
    const address = this.#server.address() as AddressInfo | string;
    return typeof address === "string" ? undefined : address.port;
  }

  /** Stops listening and ends every connection. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.end();
    const timer = setTimeout(() => this.#sockets.forEach((socket) => socket.destroy()), CLOSE_MS);
    await closed;
    clearTimeout(timer);
  }

  /** A first line that is no request ends the connection: a web page's POST, whose body is frames, drives nothing. */
  async #serve(socket: Socket): Promise<void> {
    const framed = new ReplyStream(socket, { maxFrameBytes: MAX_REQUEST_BYTES });
    let first: Buffer | undefined;
    try {
      first = await framed.read();
      if (first === undefined) return void socket.end();
      readRequest(parseFrame(first));
    } catch (error) {
      if (framed.lost.aborted) return;
      if (!(error instanceof ProtocolError)) throw error;
      await refuse(framed, error);
      return;
    }
    await new RpcServer(framed, {
      handle: (request, context) => this.#handle(request, context),
      describeError: (error, { method }) => this.#describe(error, method),
      onUnsent: (request, error) => {
        this.#unsent.get(request)?.();
        this.#log(`${request.method} could not be sent`, error);
      },
    }).run(first);
  }

  #handle(request: RequestMessage, context: RpcContext): JsonObject {
    const method = TRACKER_METHODS.find((name) => name === request.method);
    if (!method) throw new ProtocolError(ErrorCode.methodNotFound, `method not found: ${request.method}`);
    const { report, settle } = this.#tracker.perform(method);
    let unsent = false;
    this.#unsent.set(request, () => (unsent = true));
    context.onSent((delivered) => settle(delivered && !unsent));
    return report;
  }

  /** The text of a system error may name a path of this machine: its code must do. */
  #describe(error: unknown, method: string): ProtocolError {
    this.#log(`${method} failed`, error);
    const { code } = error as NodeJS.ErrnoException;
    return new ProtocolError(
      ErrorCode.serverError,
      `${method} failed${code === undefined ? "" : `: ${code}`}`,
    );
  }
}
