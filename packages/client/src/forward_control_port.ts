import net from "node:net";
import type { ByteStream, JsonObject, Logger, Splice, TokenSource } from "@envport/wire";
import {
  EnvportError,
  FramedStream,
  SOCKET_OPTIONS,
  consoleLogger,
  encodeFrame,
  isBlank,
  parseFrame,
  readRequest,
  resetStream,
  splice,
} from "@envport/wire";
import { parseEndpoint } from "./_dial.ts";
import type { Endpoint } from "./_dial.ts";
import type { ClientTlsOptions } from "./client_tls_options.ts";

/** Options of {@linkcode forwardControlPort}. */
export interface ForwardControlPortOptions {
  /**
   * The local port; 0 is any.
   *
   * @default {0}
   */
  port?: number;
  /** The token that the environment asks for (SESS-10); clients of the local port need none. */
  token?: TokenSource;
  /** Certificates, for `tls://` and `wss://`. */
  tls?: ClientTlsOptions;
  /** As of `connect`. */
  proxy?: string | boolean;
  /** @default {consoleLogger()} */
  logger?: Logger;
}

/** A control port on loopback that leads to another one. */
export interface ControlPortForward extends AsyncDisposable {
  /** What a client connects to: `tcp://127.0.0.1:41234`. */
  readonly url: string;
  readonly port: number;
  /** Closes the port, and cuts its connections. Idempotent. */
  close(): Promise<void>;
}

/**
 * Makes a control port on 127.0.0.1 that leads to another one, for clients that know neither its transport nor its token:
 * the Python peer, for example. Everyone on this machine who reaches the local port is let in with the token.
 *
 * @param url The environment, as `connect` takes it.
 * @param options The token, certificates, the local port.
 * @throws {TypeError} If the url or the token cannot be read.
 * @throws {EnvportError} `address-in-use`
 *
 * @example
 * ```ts
 * import { connect, forwardControlPort } from "@envport/client";
 * import { Environment, serve } from "@envport/server";
 *
 * const token = "an access token of your own";
 * await using server = await serve(new Environment(), { tokens: { orchestrator: token } });
 * await using forward = await forwardControlPort(server.url, { token });
 * await using client = await connect(forward.url);
 * await client.ping();
 * ```
 */
export async function forwardControlPort(
  url: string,
  options: ForwardControlPortOptions = {},
): Promise<ControlPortForward> {
  const endpoint = parseEndpoint(url, options);
  const forward = new Forward(endpoint, options.logger ?? consoleLogger());
  await forward.listen(options.port ?? 0);
  return forward;
}

class Forward implements ControlPortForward {
  readonly #endpoint: Endpoint;
  readonly #logger: Logger;
  readonly #listener: net.Server;
  readonly #closing = new AbortController();
  readonly #open = new Set<Splice>();

  constructor(endpoint: Endpoint, logger: Logger) {
    this.#endpoint = endpoint;
    this.#logger = logger;
    this.#listener = net.createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) => {
      void this.#forward(socket);
    });
  }

  get port(): number {
    return (this.#listener.address() as net.AddressInfo).port;
  }

  get url(): string {
    return `tcp://127.0.0.1:${String(this.port)}`;
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#listener.once("error", (error: NodeJS.ErrnoException) => {
        const where = `tcp://127.0.0.1:${String(port)}`;
        const message = `Cannot listen on ${where}: ${error.code ?? error.message}`;
        reject(new EnvportError("address-in-use", message, { cause: error }));
      });
      this.#listener.listen({ host: "127.0.0.1", port }, resolve);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const one of this.#open) one.abort();
    if (this.#listener.listening) await new Promise((resolve) => this.#listener.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #forward(local: ByteStream): Promise<void> {
    const framed = new FramedStream(local);
    const giveUp = (): void => void local.destroy();
    this.#closing.signal.addEventListener("abort", giveUp, { once: true });
    try {
      const first = await firstFrame(framed);
      const remote = await this.#endpoint.dial({ signal: framed.lost });
      if (first) remote.write(withCredentials(first, this.#endpoint.credentials));
      // What follows, frames or not, is passed on in whatever pieces it comes.
      remote.beginBytes?.();
      const tunnel = splice(framed.release(), remote, { halfCloseTimeout: 0 });
      this.#open.add(tunnel);
      if (this.#closing.signal.aborted) tunnel.abort();
      await tunnel.closed;
      this.#open.delete(tunnel);
    } catch (error) {
      if (!framed.lost.aborted) this.#logger.log("warn", "a connection could not be forwarded", { error });
      local.on("error", () => {});
      resetStream(local);
    } finally {
      this.#closing.signal.removeEventListener("abort", giveUp);
    }
  }
}

async function firstFrame(framed: FramedStream): Promise<Buffer | undefined> {
  for (;;) {
    const line = await framed.read();
    if (line === undefined || !isBlank(line)) return line;
  }
}

/** The first frame with the token; one that cannot be read goes as it is, for the environment to answer. */
function withCredentials(line: Buffer, credentials: JsonObject): Buffer {
  try {
    const { id, method, params } = readRequest(parseFrame(line));
    const frame = { method, params: { ...params, ...credentials } };
    return encodeFrame(id === undefined ? frame : { id, ...frame });
  } catch {
    return Buffer.concat([line, Buffer.from("\n")]);
  }
}
