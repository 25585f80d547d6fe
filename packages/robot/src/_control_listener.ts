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
import type { JsonObject, RequestMessage } from "@envport/wire";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { publicText } from "./_public_text.ts";
import type { RobotHost } from "./_robot_host.ts";
import { robotCapability } from "./robot_capability.ts";

const MAX_CONNECTIONS = 16;
const CLOSE_MS = 500;

/**
 * The side channel by which an environment drives a simulator in another process: lines of JSON-RPC over TCP, the methods
 * `capabilities`, `url`, `contract`, `reset` and `result`. A connection owns the slots that it claimed: when it is gone,
 * they are free.
 */
export class ControlListener {
  readonly #host: RobotHost;
  readonly #url: string;
  readonly #server = createServer(SOCKET_OPTIONS);
  readonly #sockets = new Set<Socket>();

  /** @param url Where agents connect. */
  constructor(host: RobotHost, url: string) {
    this.#host = host;
    this.#url = url;
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      this.#serve(socket).catch((error: unknown) => {
        host.log("a control connection failed", error);
        socket.destroy();
      });
    });
  }

  /** @returns The port. */
  async listen(host: string, port: number): Promise<number> {
    this.#server.listen({ host, port });
    await once(this.#server, "listening");
    this.#server.on("error", (error) => this.#host.log("the control listener failed", error));
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.end();
    const timer = setTimeout(() => this.#sockets.forEach((socket) => socket.destroy()), CLOSE_MS);
    await closed;
    clearTimeout(timer);
  }

  /** A first line that is no request ends the connection: a web page's POST drives nothing. */
  async #serve(socket: Socket): Promise<void> {
    const framed = new FramedStream(socket);
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
    const claims = new Claims(this.#host);
    try {
      await new RpcServer(framed, {
        handle: (request) => this.#handle(request, claims),
        describeError: (error) => new ProtocolError(ErrorCode.serverError, publicText(error)),
      }).run(first);
    } finally {
      await claims.end();
    }
  }

  async #handle({ method, params }: RequestMessage, claims: Claims): Promise<JsonObject> {
    switch (method) {
      case "url":
        return { url: this.#url };
      case "contract":
        return { contract: await this.#host.contract() };
      case "capabilities": {
        const { name = "robot" } = params;
        if (typeof name !== "string") throw invalid("capabilities: 'name' must be a string when given");
        const contract = await this.#host.contract();
        return { capabilities: [robotCapability({ name, url: this.#url, contract })] };
      }
      case "reset":
        return await claims.reset(params);
      case "result": {
        const { token = null } = params;
        if (token !== null && typeof token !== "string")
          throw invalid("result: 'token' must be a string when given");
        return await claims.result(token);
      }
      default:
        throw new ProtocolError(ErrorCode.methodNotFound, `unknown method '${method}'`);
    }
  }
}

/** The slots of one connection. */
class Claims {
  readonly #host: RobotHost;
  readonly #tokens = new Set<string>();
  #ended = false;

  constructor(host: RobotHost) {
    this.#host = host;
  }

  async reset(args: JsonObject): Promise<JsonObject> {
    const { prompt, token } = await this.#host.reset(args);
    if (this.#ended) await this.#host.release(token);
    else this.#tokens.add(token);
    return { prompt, token };
  }

  async result(token: string | null): Promise<JsonObject> {
    const grade = await this.#host.result(token);
    if (token !== null) this.#tokens.delete(token);
    return { ...grade };
  }

  async end(): Promise<void> {
    this.#ended = true;
    for (const token of this.#tokens) await this.#host.release(token);
  }
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.invalidParams, message);
}
