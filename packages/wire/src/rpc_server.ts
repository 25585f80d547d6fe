import { setTimeout as sleep } from "node:timers/promises";
import { wasReset } from "./byte_stream.ts";
import { EnvportError } from "./envport_error.ts";
import { ErrorCode } from "./error_code.ts";
import type { FramedStream } from "./framed_stream.ts";
import type { JsonObject } from "./json.ts";
import type { MessageId, OutgoingMessage, RequestMessage } from "./message.ts";
import { RequestError, encodeFrame, parseFrame, readRequest } from "./message.ts";
import { ProtocolError } from "./protocol_error.ts";

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
/** The same in bytes of their lines. */
const MAX_BYTES_IN_FLIGHT = 1024 * 1024;
/** Lines in a row that are no JSON before the connection is closed (FRAME-6). */
const MAX_BAD_LINES = 3;
/** How long bytes of a refused peer are read and dropped, so that the error frame reaches it. */
const LINGER_MS = 500;
/** After a reply to a peer that has ended its direction: how long its kernel has to say that nobody reads. */
const PROBE_MS = 100;

/**
 * Serves JSON-RPC requests on one framed stream: rules FRAME-4 to FRAME-11. It reads on while requests are being
 * executed, up to 128 of them, and stops reading while the other side does not take its replies.
 */
export class RpcServer {
  readonly #framed: FramedStream;
  readonly #options: RpcServerOptions;
  readonly #stopped = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  #bytesInFlight = 0;
  #badLines = 0;

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
    try {
      if (first) this.#receive(first);
      for (;;) {
        await this.#ready();
        const line = await this.#framed.read({ signal: this.#stopped.signal });
        if (line === undefined) break;
        this.#receive(line);
      }
      await this.#unlessLost(Promise.all(this.#inFlight));
      this.#framed.stream.end();
      return "ended";
    } catch (error) {
      if (this.#framed.lost.aborted) return "lost";
      if (this.#stopped.signal.aborted) return await this.#close();
      if (!(error instanceof ProtocolError)) throw error;
      await refuse(this.#framed, error);
      return "closed";
    }
  }

  /** Reads no more; once the requests that were read are answered, the connection is closed. */
  finish(): void {
    this.#stopped.abort();
  }

  /**
   * Sends a notification; one that is too large, or that nobody can receive any more, is dropped.
   *
   * @param method What has happened.
   * @param params Its facts.
   */
  notify(method: string, params: JsonObject): void {
    if (this.#framed.stream.writable) this.#framed.stream.write(encodeFrame({ method, params }));
  }

  async #close(): Promise<RpcEnd> {
    await Promise.all(this.#inFlight);
    this.#framed.stream.end();
    await linger(this.#framed);
    return "closed";
  }

  /** Waits until another request may be read. */
  async #ready(): Promise<void> {
    await this.drained();
    while (this.#inFlight.size >= MAX_IN_FLIGHT || this.#bytesInFlight > MAX_BYTES_IN_FLIGHT) {
      await this.#unlessLost(Promise.race(this.#inFlight));
    }
  }

  /** Waits for requests, but not longer than the connection lives. */
  async #unlessLost(work: Promise<unknown>): Promise<void> {
    const { lost } = this.#framed;
    await new Promise<void>((resolve, reject) => {
      const fail = (): void => {
        reject(lost.reason as EnvportError);
      };
      lost.addEventListener("abort", fail, { once: true });
      if (lost.aborted) fail();
      void work.then(() => {
        lost.removeEventListener("abort", fail);
        resolve();
      });
    });
  }

  /** Resolves once the other side takes replies again, or is gone. */
  async drained(): Promise<void> {
    const { stream } = this.#framed;
    if (!stream.writableNeedDrain || stream.destroyed) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stream.off("drain", done).off("close", done);
        resolve();
      };
      stream.on("drain", done).on("close", done);
    });
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
    const done = this.#execute(request).finally(() => {
      this.#inFlight.delete(done);
      this.#bytesInFlight -= line.length;
    });
    this.#inFlight.add(done);
    this.#bytesInFlight += line.length;
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

  async #execute(request: RequestMessage): Promise<void> {
    const listeners: ((delivered: boolean) => void)[] = [];
    let reply: OutgoingMessage;
    const id = request.id ?? null;
    try {
      const result = await this.#options.handle(request, { onSent: (listener) => listeners.push(listener) });
      reply = { id, result };
    } catch (error) {
      const described = error instanceof ProtocolError ? error : this.#options.describeError(error, request);
      reply = { id, error: described.toObject() };
    }
    const delivered = request.id === undefined ? this.#isOpen() : await this.#send(reply, request);
    if (listeners.length === 0) return;
    const arrived = delivered && (await this.#confirm());
    for (const listener of listeners) listener(arrived);
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
    try {
      return encodeFrame(reply, this.#framed.maxFrameBytes);
    } catch (error) {
      const failure = unencodable(error, this.#framed.maxFrameBytes);
      if (request) this.#options.onUnsent?.(request, failure);
      const { id } = reply as { id: MessageId | null };
      try {
        return encodeFrame({ id, error: failure.toObject() }, this.#framed.maxFrameBytes);
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

function unencodable(error: unknown, limit: number): ProtocolError {
  if (error instanceof EnvportError) {
    return new ProtocolError(ErrorCode.internalError, error.message, { type: "frame-too-large", limit });
  }
  const why = error instanceof RangeError ? "it is nested too deep" : "it holds what JSON cannot say";
  return new ProtocolError(ErrorCode.internalError, `Cannot send the result as ${why}`, {
    type: "not-encodable",
  });
}

/** A line of white space only; an empty line is ignored (FRAME-6). */
export function isBlank(line: Uint8Array): boolean {
  return line.length === 0 || (line.length < 64 && line.every((byte) => byte <= 0x20));
}

/**
 * Sends one error frame and closes the connection; what the other side still sends is read and dropped for half a
 * second, since a reset would destroy the error on its way.
 *
 * @param framed The stream.
 * @param error What the other side is told.
 * @param id The id to answer with; null if it could not be read.
 */
export async function refuse(
  framed: FramedStream,
  error: ProtocolError,
  id: MessageId | null = null,
): Promise<void> {
  if (framed.stream.writable) framed.stream.end(encodeFrame({ id, error: error.toObject() }));
  await linger(framed);
}

/** Drops what still arrives until the other side has closed, at most for half a second; then destroys the stream. */
export async function linger(framed: FramedStream): Promise<void> {
  const { stream } = framed.release();
  stream.on("error", () => {
    // Nobody is interested any more.
  });
  if (!stream.closed) {
    stream.resume();
    const timer = setTimeout(() => stream.destroy(), LINGER_MS);
    await new Promise((resolve) => stream.once("close", resolve));
    clearTimeout(timer);
  }
}
