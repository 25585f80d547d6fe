import type { ByteStream, PublishedCapability, RequestMessage, Splice } from "@envport/wire";
import {
  ErrorCode,
  FramedStream,
  ProtocolError,
  isBlank,
  linger,
  parseFrame,
  readRequest,
  refuse,
} from "@envport/wire";
import type { Access, Principal } from "./_access.ts";
import { mayReach } from "./_access.ts";
import { ControlSession } from "./_control_session.ts";
import type { Sessions } from "./_sessions.ts";
import { serveTunnel } from "./_tunnel.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";

/** Longest accepted first line in bytes (CONN-3). */
const PREFACE_BYTES = 64 * 1024;

/** What the connections of one server share. */
export interface ConnectionContext {
  env: Environment;
  sessions: Sessions;
  access: Access;
  logger: Logger;
  /** Where the connection comes from. */
  source: string;
  /** In milliseconds (CONN-3). */
  prefaceTimeout: number;
  maxFrameBytes: number;
  dialTimeout: number;
  halfCloseTimeout: number;
  onTunnel(this: void, capability: string, tunnel: Splice): void;
}

/**
 * One connection of a listener, whatever the transport: its first frame decides whether it is a control session or a
 * capability stream (CONN-1).
 *
 * ```text
 * preface ── tunnel.open ──▶ dial ──▶ splice ──▶ closed
 *    ├────── any other request ──▶ control session ──▶ closed
 *    └────── anything else, or nothing in time ──▶ closed
 * ```
 */
export class Connection {
  readonly #context: ConnectionContext;
  readonly #framed: FramedStream;
  readonly #aborted = new AbortController();
  #session: ControlSession | undefined;

  /**
   * @param stream A stream that nothing has read from.
   * @param context What it serves.
   */
  constructor(stream: ByteStream, context: ConnectionContext) {
    this.#context = context;
    this.#framed = new FramedStream(stream, {
      maxFrameBytes: Math.min(PREFACE_BYTES, context.maxFrameBytes),
    });
  }

  /** Serves the connection to its end; it never rejects. */
  async run(): Promise<void> {
    try {
      const first = await this.#preface();
      if (first) await this.#serve(first);
    } catch (error) {
      if (error instanceof ProtocolError) await this.#refuseForeign(error);
      else if (!this.#framed.lost.aborted)
        this.#context.logger.log("error", "a connection failed", { error });
    } finally {
      await this.#closed();
    }
  }

  /** What was written may still be on its way; a client that does not read it is not waited for longer than this. */
  async #closed(): Promise<void> {
    const { stream } = this.#framed;
    if (!stream.writableEnded) stream.destroy();
    if (stream.closed) return;
    const timer = setTimeout(() => stream.destroy(), this.#context.halfCloseTimeout || MAX_FLUSH_MS).unref();
    await new Promise((resolve) => stream.once("close", resolve));
    clearTimeout(timer);
  }

  /**
   * Closes the connection: a control session reads no more, and this resolves when it has answered what it has read; a
   * tunnel, or a connection that is nothing yet, is cut.
   */
  async finish(): Promise<void> {
    if (this.#session) await this.#session.finish();
    else this.abort();
  }

  /** Ends the connection at once. */
  abort(): void {
    this.#aborted.abort();
    if (this.#session) this.#session.abort();
    else this.#framed.stream.destroy();
  }

  /** Says that there is no room, and closes. */
  async refuseForCapacity(limit: number): Promise<void> {
    const message = `the server has its ${String(limit)} connections open: try again later`;
    await refuse(
      this.#framed,
      new ProtocolError(ErrorCode.serverError, message, { type: "capacity", limit }),
    );
  }

  /** The first line that is not empty, within the time allowed; undefined if none comes. */
  async #preface(): Promise<Buffer | undefined> {
    const { stream } = this.#framed;
    const timer = setTimeout(() => stream.destroy(), this.#context.prefaceTimeout);
    const foreign = new AbortController();
    const onFirstBytes = (chunk: Buffer): void => {
      if (chunk[0] !== TLS_HANDSHAKE) return;
      foreign.abort();
      this.#context.logger.log("warn", "a client speaks TLS to a port that is not TLS: use a tcp:// url");
      stream.destroy();
    };
    stream.once("data", onFirstBytes);
    try {
      for (;;) {
        const line = await this.#framed.read();
        if (foreign.signal.aborted) return undefined;
        if (line === undefined || !isBlank(line)) return line;
      }
    } finally {
      clearTimeout(timer);
      stream.off("data", onFirstBytes);
    }
  }

  async #serve(first: Buffer): Promise<void> {
    if (HTTP_REQUEST_LINE_REGEXP.test(first.toString("latin1"))) {
      await this.#answerHttp();
      return;
    }
    const request: RequestMessage = readRequest(parseFrame(first));
    const { env, sessions, logger } = this.#context;
    const principal = await this.#identify(request);
    if (!principal) return;
    this.#framed.maxFrameBytes = this.#context.maxFrameBytes;
    if (request.method === "tunnel.open") {
      const { dialTimeout, halfCloseTimeout, onTunnel } = this.#context;
      const options = {
        dialTimeout,
        halfCloseTimeout,
        logger,
        mayReach: (capability: PublishedCapability) => mayReach(principal, capability),
        onOpen: onTunnel,
      };
      await serveTunnel(this.#framed, request, env, options, this.#aborted.signal);
      return;
    }
    this.#session = new ControlSession(this.#framed, { env, sessions, logger, principal });
    await this.#session.run(first);
  }

  /** Who speaks; undefined for somebody who has been told that they may not (SESS-10). */
  async #identify({ id, method, params }: RequestMessage): Promise<Principal | undefined> {
    const { access, source, logger } = this.#context;
    try {
      return await access.identify(method, params, source);
    } catch (error) {
      logger.log("warn", "a connection was refused", { source, reason: (error as Error).message });
      await refuse(this.#framed, error as ProtocolError, id ?? null);
      return undefined;
    }
  }

  /** Nothing that follows an invalid first line is ever read (CONN-4). */
  async #refuseForeign(error: ProtocolError): Promise<void> {
    this.#context.logger.log("warn", "a connection began with an invalid line and was closed", {
      reason: error.message,
    });
    await refuse(this.#framed, error);
  }

  async #answerHttp(): Promise<void> {
    this.#context.logger.log("warn", "a client speaks HTTP to the control port");
    const body =
      "This is an envport control port. It speaks newline-delimited JSON-RPC over TCP, not HTTP.\n";
    const headers = [
      "Content-Type: text/plain",
      `Content-Length: ${String(body.length)}`,
      "Connection: close",
    ];
    this.#framed.stream.end(`HTTP/1.1 400 Bad Request\r\n${headers.join("\r\n")}\r\n\r\n${body}`);
    await linger(this.#framed);
  }
}

/** Bound of the last flush where half-closed streams have none. */
const MAX_FLUSH_MS = 120_000;
/** First byte of a TLS record that holds a handshake (RFC 8446, section 5.1). */
const TLS_HANDSHAKE = 0x16;
const HTTP_REQUEST_LINE_REGEXP = /^[A-Z]{3,16} \S+ HTTP\/\d(?:\.\d)?\r?$/;
