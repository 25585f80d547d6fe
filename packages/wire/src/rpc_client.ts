import { endStream } from "./_end_stream.ts";
import type { AbortOptions } from "./abort_options.ts";
import { encodeFrame } from "./encode_frame.ts";
import { EnvportError } from "./envport_error.ts";
import type { FramedStream } from "./framed_stream.ts";
import { isBlank } from "./is_blank.ts";
import type { JsonObject } from "./json.ts";
import { isJsonObject } from "./json.ts";
import { readReply, readRequest } from "./message.ts";
import { parseFrame } from "./parse_frame.ts";
import { ProtocolError } from "./protocol_error.ts";

/** Options of {@linkcode RpcClient}. */
export interface RpcClientOptions {
  /** Called with each notification that the server sends. */
  onNotification?: ((this: void, method: string, params: JsonObject) => void) | undefined;
}

interface PendingCall {
  method: string;
  resolve(result: JsonObject): void;
  reject(error: Error): void;
}

/** How long a server has to end its direction after this side has ended its own, in milliseconds. */
const CLOSE_MS = 500;

/**
 * The calling side of JSON-RPC on one framed stream. Replies are matched by id; a reply that nobody waits for ends the
 * connection, and when it ends, every pending call fails at once (CLI-5).
 *
 * @example
 * ```ts
 * import { FramedStream, RpcClient } from "@envport/wire";
 * import assert from "node:assert/strict";
 * import { once } from "node:events";
 * import net from "node:net";
 *
 * const server = net.createServer((socket) => {
 *   socket.once("data", () => socket.end('{"jsonrpc":"2.0","id":1,"result":{"ok":true}}\n'));
 * });
 * await once(server.listen(0, "127.0.0.1"), "listening");
 * const { port } = server.address() as net.AddressInfo;
 * {
 *   await using client = new RpcClient(new FramedStream(net.connect({ port, allowHalfOpen: true })));
 *   assert.deepEqual(await client.call("ping", {}), { ok: true });
 * }
 * server.close();
 * ```
 */
export class RpcClient {
  /** Resolves when the connection has ended, to the reason; `closed` for an end that this side asked for. */
  readonly closed: Promise<EnvportError>;
  readonly #framed: FramedStream;
  readonly #options: RpcClientOptions;
  readonly #calls = new Map<number, PendingCall>();
  /** Ids of calls that were given up: their replies are dropped. */
  readonly #abandoned = new Set<number>();
  #lastId = 0;
  #reason: EnvportError | undefined;

  /**
   * @param framed A connected stream; its `maxFrameBytes` is the limit in both directions.
   * @param options What to do with notifications.
   */
  constructor(framed: FramedStream, options: RpcClientOptions = {}) {
    this.#framed = framed;
    this.#options = options;
    this.closed = this.#readReplies();
  }

  /** Calls that wait for their replies. */
  get pendingCalls(): number {
    return this.#calls.size;
  }

  /**
   * Calls a method.
   *
   * @param method The method's name.
   * @param params Its parameters.
   * @param options A signal that gives up waiting; the server is not told.
   * @returns The result.
   * @throws {ProtocolError} What the server answered.
   * @throws {EnvportError} If the request is over the frame limit (`frame-too-large`, the connection stays usable), the
   *   connection ended (`closed`, `connection-lost`), or the reply broke the contract (`protocol-violation`).
   * @throws {TypeError} If the parameters hold what JSON cannot say; {RangeError} if they are nested too deep.
   */
  async call(method: string, params: JsonObject, { signal }: AbortOptions = {}): Promise<JsonObject> {
    signal?.throwIfAborted();
    if (this.#reason) throw this.#reason;
    const id = ++this.#lastId;
    const bytes = encodeFrame({ id, method, params }, this.#framed.maxFrameBytes);
    const abandon = (): void => {
      const call = this.#take(id);
      if (!call) return;
      this.#abandoned.add(id);
      call.reject(signal!.reason as Error);
    };
    signal?.addEventListener("abort", abandon, { once: true });
    try {
      return await new Promise<JsonObject>((resolve, reject) => {
        this.#calls.set(id, { method, resolve, reject });
        this.#framed.stream.write(bytes);
      });
    } finally {
      signal?.removeEventListener("abort", abandon);
    }
  }

  /**
   * Ends the connection in good order: what was called is still sent, pending calls fail, and the server has half a
   * second to end its own direction. Idempotent.
   */
  async close(): Promise<void> {
    this.#fail(new EnvportError("closed", "Cannot go on as the connection was closed"));
    await endStream(this.#framed.stream, CLOSE_MS);
    await this.closed;
  }

  /** The same as {@linkcode RpcClient.close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Ends the connection at once. Idempotent.
   *
   * @param reason What pending calls fail with.
   */
  abort(reason: EnvportError): void {
    this.#fail(reason);
    this.#framed.stream.destroy();
  }

  async #readReplies(): Promise<EnvportError> {
    try {
      for (let line = await this.#framed.read(); line !== undefined; line = await this.#framed.read()) {
        if (!isBlank(line)) this.#receive(parseFrame(line));
      }
      this.#fail(new EnvportError("connection-lost", "Cannot go on as the server closed the connection"));
      void endStream(this.#framed.stream, CLOSE_MS);
    } catch (error) {
      this.abort(this.#describe(error as Error));
    }
    return this.#reason!;
  }

  #describe(error: Error): EnvportError {
    if (error instanceof EnvportError) return error;
    if (!(error instanceof ProtocolError)) {
      return new EnvportError("closed", `Cannot go on as 'onNotification' threw: ${error.message}`, {
        cause: error,
      });
    }
    // The last line may be half a reply of a server that died.
    const code = this.#framed.ended ? "connection-lost" : "protocol-violation";
    return new EnvportError(code, `Cannot read reply: ${error.message}`, { cause: error });
  }

  #receive(value: unknown): void {
    if (this.#reason) return;
    if (isJsonObject(value) && Object.hasOwn(value, "method")) {
      const { method, params } = readRequest(value);
      this.#options.onNotification?.(method, params);
      return;
    }
    const reply = readReply(value);
    if (this.#abandoned.delete(reply.id as number)) return;
    const call = this.#take(reply.id as number);
    if (call) this.#settle(call, reply.result, reply.error);
    else if (reply.id === null && reply.error) this.#failWith(reply.error);
    else
      throw new EnvportError(
        "protocol-violation",
        `Cannot match reply as no call has id ${String(reply.id)}`,
      );
  }

  /** A call is settled once, whatever settles it. */
  #take(id: number): PendingCall | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  #settle(call: PendingCall, result: unknown, error: ProtocolError | undefined): void {
    if (error) call.reject(error);
    else if (isJsonObject(result)) call.resolve(result);
    else
      call.reject(
        new EnvportError("protocol-violation", `Cannot use the result of ${call.method} as it is no object`),
      );
  }

  /** An error without an id concerns the connection: whoever waits is told. */
  #failWith(error: ProtocolError): void {
    for (const id of this.#calls.keys()) this.#take(id)!.reject(error);
    throw new EnvportError(
      "protocol-violation",
      `Cannot go on as the server refused the connection: ${error.message}`,
      {
        cause: error,
      },
    );
  }

  #fail(reason: EnvportError): void {
    this.#reason ??= reason;
    for (const id of this.#calls.keys()) this.#take(id)!.reject(this.#reason);
  }
}
