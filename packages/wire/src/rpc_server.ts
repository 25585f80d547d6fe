import { setTimeout as sleep } from "node:timers/promises";
import { unencodable } from "./_unencodable.ts";
import { wasReset } from "./byte_stream.ts";
import { encodeFrame } from "./encode_frame.ts";
import type { OutgoingMessage } from "./encode_frame.ts";
import type { FramedStream } from "./framed_stream.ts";
import { isBlank } from "./is_blank.ts";
import type { JsonObject } from "./json.ts";
import { RequestError, readRequest } from "./message.ts";
import type { MessageId, RequestMessage } from "./message.ts";
import { parseFrame } from "./parse_frame.ts";
import { ProtocolError } from "./protocol_error.ts";
import { linger, refuse } from "./refuse.ts";

/** What a handler may do besides returning a result. */
export interface RpcContext {
  /**
   * Asks to be told whether the reply reached the other side, as far as can be known: false if the connection was gone
   * when the reply was written.
   */
  onSent(listener: (delivered: boolean) => void): void;
}

/** Options of {@linkcode RpcServer}. */
export interface RpcServerOptions {
  /**
   * Executes one request. It is called as soon as the request has been read, also while earlier ones are running: order
   * is the handler's business.
   *
   * @returns The result; that of a notification is dropped.
   * @throws {ProtocolError} What the caller is told.
   */
  handle(this: void, request: RequestMessage, context: RpcContext): Promise<JsonObject> | JsonObject;
  /** What the caller is told of an error that is no {@linkcode ProtocolError}. */
  describeError(this: void, error: unknown, request: RequestMessage): ProtocolError;
  /** Called with the error when a result could not be encoded, before the caller is told (FRAME-5). */
  onUnsent?(this: void, request: RequestMessage, error: ProtocolError): void;
}

/** How a connection ended: the other side ended it, it was lost, or this side closed it. */
export type RpcEnd = "ended" | "lost" | "closed";

/** Requests read but not answered; more are left in the socket. */
const MAX_IN_FLIGHT = 128;
/** The same in bytes of their lines; and of notifications that the other side has not taken. */
const MAX_BYTES_IN_FLIGHT = 1024 * 1024;
/** Lines in a row that are no JSON before the connection is closed (FRAME-6). */
const MAX_BAD_LINES = 3;
/** After a reply to a peer that has ended its direction: how long its kernel has to say that nobody reads. */
const PROBE_MS = 100;

/**
 * Serves JSON-RPC requests on one framed stream: rules FRAME-4 to FRAME-11. It reads on while requests are being
 * executed, up to 128 of them, and stops reading while the other side does not take its replies.
 *
 * What a handler throws is answered; what {@linkcode RpcServerOptions.describeError} or a listener of
 * {@linkcode RpcContext.onSent} throws ends the connection and is the cause of its loss.
 *
 * @example
 * ```ts
 * import { ErrorCode, FramedStream, ProtocolError, RpcServer, SOCKET_OPTIONS } from "@envport/wire";
 * import net from "node:net";
 *
 * const server = net.createServer(SOCKET_OPTIONS, (socket) => {
 *   const rpc = new RpcServer(new FramedStream(socket), {
 *     handle: ({ method, params }) => ({ method, params }),
 *     describeError: (error) => new ProtocolError(ErrorCode.serverError, String(error)),
 *   });
 *   void rpc.run();
 * });
 * server.listen(0, "127.0.0.1", () => server.close());
 * ```
 */
export class RpcServer {
  readonly #framed: FramedStream;
  readonly #options: RpcServerOptions;
  readonly #stopped = new AbortController();
  #inFlight = 0;
  #bytesInFlight = 0;
  #badLines = 0;
  #wake: (() => void) | undefined;
  #drained: Promise<void> | undefined;

  /**
   * @param framed The stream; its `maxFrameBytes` is the limit in both directions.
   * @param options The handler.
   */
  constructor(framed: FramedStream, options: RpcServerOptions) {
    this.#framed = framed;
    this.#options = options;
  }

  /**
   * Reads and executes requests until the connection ends. After an orderly end, every request that was read has been
   * answered; after a loss, some may still be running.
   *
   * @param first A line that has been read from the stream already.
   */
  async run(first?: Uint8Array): Promise<RpcEnd> {
    const { lost } = this.#framed;
    lost.addEventListener("abort", this.#changed);
    try {
      if (first) this.#receive(first);
      for (;;) {
        await this.drained();
        await this.#until(() => this.#hasRoom(), lost);
        const line = await this.#framed.read({ signal: this.#stopped.signal });
        if (line === undefined) break;
        this.#receive(line);
      }
      await this.#until(() => this.#inFlight === 0, lost);
      this.#framed.stream.end();
      return "ended";
    } catch (error) {
      if (lost.aborted) return "lost";
      if (this.#stopped.signal.aborted) return await this.#close();
      if (!(error instanceof ProtocolError)) throw error;
      await refuse(this.#framed, error);
      return "closed";
    } finally {
      lost.removeEventListener("abort", this.#changed);
    }
  }

  /** Reads no more; once the requests that were read are answered, the connection is closed. */
  finish(): void {
    this.#stopped.abort();
  }

  /**
   * Sends a notification; one that is too large, or that nobody can receive any more, is dropped, and so is one to a peer
   * that has left a mebibyte unread.
   *
   * @param method What has happened.
   * @param params Its facts.
   * @throws {TypeError} If the facts hold what JSON cannot say.
   */
  notify(method: string, params: JsonObject): void {
    const { stream, maxFrameBytes } = this.#framed;
    if (!stream.writable || stream.writableLength > MAX_BYTES_IN_FLIGHT) return;
    try {
      stream.write(encodeFrame({ method, params }, maxFrameBytes));
    } catch (error) {
      if (error instanceof TypeError) throw error;
    }
  }

  /** Resolves once the other side takes replies again, or is gone. */
  async drained(): Promise<void> {
    const { stream } = this.#framed;
    if (!stream.writableNeedDrain || stream.destroyed) return;
    this.#drained ??= new Promise<void>((resolve) => {
      const done = (): void => {
        stream.off("drain", done).off("close", done);
        this.#drained = undefined;
        resolve();
      };
      stream.on("drain", done).on("close", done);
    });
    await this.#drained;
  }

  async #close(): Promise<RpcEnd> {
    await this.#until(() => this.#inFlight === 0);
    await linger(this.#framed);
    return "closed";
  }

  /** A single request may be of any size: the one behind it may be its cancel (TASK-8). */
  #hasRoom(): boolean {
    return (
      this.#inFlight < 2 || (this.#inFlight < MAX_IN_FLIGHT && this.#bytesInFlight <= MAX_BYTES_IN_FLIGHT)
    );
  }

  readonly #changed = (): void => this.#wake?.();

  /** Waits until something holds of the requests in flight, but not longer than the connection lives. */
  async #until(condition: () => boolean, lost?: AbortSignal): Promise<void> {
    while (!condition()) {
      if (lost?.aborted) throw lost.reason as Error;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #receive(line: Uint8Array): void {
    if (isBlank(line)) return;
    let request: RequestMessage;
    try {
      request = readRequest(parseFrame(line));
      this.#badLines = 0;
    } catch (error) {
      this.#reject(error as ProtocolError);
      return;
    }
    void this.#execute(request, line.length);
  }

  /** Answers a line that is no request. */
  #reject(error: ProtocolError): void {
    if (error instanceof RequestError) {
      this.#badLines = 0;
      if (error.id !== undefined) void this.#send({ id: error.id, error: error.toObject() });
      return;
    }
    void this.#send({ id: null, error: error.toObject() });
    if (++this.#badLines >= MAX_BAD_LINES) this.finish();
  }

  async #execute(request: RequestMessage, bytes: number): Promise<void> {
    this.#inFlight++;
    this.#bytesInFlight += bytes;
    const listeners: ((delivered: boolean) => void)[] = [];
    try {
      const reply = await this.#answer(request, { onSent: (listener) => listeners.push(listener) });
      const delivered = request.id === undefined ? this.#isOpen() : await this.#send(reply, request);
      const arrived = delivered && listeners.length > 0 && (await this.#confirm());
      for (const listener of listeners) listener(arrived);
    } catch (error) {
      this.#framed.stream.destroy(error as Error);
    } finally {
      this.#inFlight--;
      this.#bytesInFlight -= bytes;
      this.#changed();
    }
  }

  async #answer(request: RequestMessage, context: RpcContext): Promise<OutgoingMessage> {
    const id = request.id ?? null;
    try {
      return { id, result: await this.#options.handle(request, context) };
    } catch (error) {
      const described = error instanceof ProtocolError ? error : this.#options.describeError(error, request);
      return { id, error: described.toObject() };
    }
  }

  #isOpen(): boolean {
    return !this.#framed.lost.aborted && !this.#framed.stream.destroyed;
  }

  /** Writes a reply; resolves to whether the operating system took it. */
  async #send(reply: OutgoingMessage, request?: RequestMessage): Promise<boolean> {
    const { stream } = this.#framed;
    const bytes = this.#encode(reply, request);
    if (!stream.writable) return false;
    return await new Promise((resolve) => {
      stream.write(bytes, (error) => {
        resolve(!error);
      });
    });
  }

  #encode(reply: OutgoingMessage, request: RequestMessage | undefined): Buffer {
    const { maxFrameBytes } = this.#framed;
    try {
      return encodeFrame(reply, maxFrameBytes);
    } catch (error) {
      const failure = unencodable(error, maxFrameBytes);
      if (request) this.#options.onUnsent?.(request, failure);
      const { id } = reply as { id: MessageId | null };
      try {
        return encodeFrame({ id, error: failure.toObject() }, maxFrameBytes);
      } catch {
        return encodeFrame({ id: null, error: failure.toObject() });
      }
    }
  }

  /** After a reply was written: whether somebody was there to read it. */
  async #confirm(): Promise<boolean> {
    if (!this.#framed.ended) return this.#isOpen();
    await sleep(PROBE_MS);
    return this.#isOpen() && !wasReset(this.#framed.stream);
  }
}
