import { lookup } from "node:dns/promises";
import { createServer, request } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { isPublicAddress } from "./_public_address.ts";
import type { HostList } from "./host_list.ts";

const DIAL_TIMEOUT_MS = 15_000;
/** A connection that neither side uses is given up. */
const IDLE_TIMEOUT_MS = 600_000;
/** What concerns one connection and is not passed on (RFC 9110, 7.6.1). */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Options of {@linkcode EgressProxy}; the last two are for tests. */
export interface EgressProxyOptions {
  readonly hosts: HostList;
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | undefined;
  readonly isPublic?: ((address: string) => boolean) | undefined;
}

/** Why a request goes no further. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.status = status;
  }
}

/**
 * An HTTP proxy with an allow-list: `CONNECT host:port` and requests with an absolute `http:` URL. It has no socket of
 * its own; connections are handed to it.
 *
 * A host name is checked by grammar and against the list, resolved once, refused unless all its addresses are public,
 * and the very address that was checked is dialled. Refusals say why in `X-Proxy-Error`: `blocked-by-allowlist`,
 * `blocked-by-address`, `bad-target`; `upstream-failure` where the other side does not answer.
 */
export class EgressProxy {
  readonly #server: Server;
  readonly #hosts: HostList;
  readonly #resolve: (host: string) => Promise<readonly string[]>;
  readonly #isPublic: (address: string) => boolean;

  constructor({ hosts, resolve = resolveAll, isPublic = isPublicAddress }: EgressProxyOptions) {
    this.#hosts = hosts;
    this.#resolve = resolve;
    this.#isPublic = isPublic;
    this.#server = createServer({ requestTimeout: 0 });
    this.#server.on("request", (incoming, response) => void this.#forward(incoming, response));
    this.#server.on(
      "connect",
      (incoming: IncomingMessage, stream: Duplex, head: Buffer) => void this.#tunnel(incoming, stream, head),
    );
    this.#server.on("clientError", (_, stream) => stream.destroy());
  }

  /** Takes a connection. */
  accept(stream: Duplex): void {
    stream.on("error", () => stream.destroy());
    this.#server.emit("connection", stream);
  }

  async #dial(host: string, port: number): Promise<Socket> {
    if (!this.#hosts.allows(host, port)) throw new Refusal(403, "blocked-by-allowlist");
    const addresses = await this.#resolve(host).catch((cause: unknown) => {
      throw new Refusal(502, "upstream-failure", { cause });
    });
    if (addresses.length === 0) throw new Refusal(502, "upstream-failure");
    if (!addresses.every((address) => this.#isPublic(address))) throw new Refusal(403, "blocked-by-address");
    let failure: unknown;
    for (const address of addresses) {
      try {
        return await dialAddress(address, port);
      } catch (error) {
        failure = error;
      }
    }
    throw new Refusal(502, "upstream-failure", { cause: failure });
  }

  async #tunnel({ url = "" }: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    let upstream: Socket;
    try {
      const [, host, port] = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]]+):(\d{1,5})$/i.exec(url) ?? [];
      if (host === undefined) throw new Refusal(400, "bad-target");
      upstream = await this.#dial(unbracket(host), Number(port));
    } catch (error) {
      const { status, message } = refusalOf(error);
      stream.end(
        `HTTP/1.1 ${String(status)} Refused\r\nX-Proxy-Error: ${message}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
      );
      return;
    }
    stream.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (head.length > 0) upstream.write(head);
    splice(stream, upstream);
  }

  async #forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    let url: URL;
    let upstream: Socket;
    try {
      url = parseTarget(incoming.url ?? "");
      upstream = await this.#dial(unbracket(url.hostname), Number(url.port || 80));
    } catch (error) {
      const { status, message } = refusalOf(error);
      incoming.resume();
      response.writeHead(status, { "X-Proxy-Error": message, Connection: "close" }).end();
      return;
    }
    const outgoing = request({
      createConnection: () => upstream,
      method: incoming.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...endToEnd(incoming.headers), host: url.host },
    });
    outgoing.on("response", (answer) => {
      response.writeHead(answer.statusCode!, endToEnd(answer.headers));
      answer.on("error", () => response.destroy()).pipe(response);
    });
    outgoing.on("error", () => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { "X-Proxy-Error": "upstream-failure" }).end();
    });
    response.on("close", () => upstream.destroy());
    incoming.on("error", () => outgoing.destroy()).pipe(outgoing);
  }
}

async function resolveAll(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function dialAddress(address: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true, timeout: DIAL_TIMEOUT_MS });
    socket.once("timeout", () => socket.destroy(new Error("the host did not answer")));
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      socket.removeAllListeners("timeout");
      socket.setTimeout(IDLE_TIMEOUT_MS, () => socket.destroy());
      socket.on("error", () => socket.destroy());
      resolve(socket);
    });
  });
}

function splice(stream: Duplex, upstream: Socket): void {
  stream.pipe(upstream);
  upstream.pipe(stream);
  stream.once("close", () => upstream.destroy());
  upstream.once("close", () => {
    if (!upstream.readableEnded) stream.destroy();
  });
}

const unbracket = (host: string): string => host.replace(/^\[|\]$/g, "");

function parseTarget(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" || url.username !== "" || url.password !== "")
    throw new Refusal(400, "bad-target");
  return url;
}

function refusalOf(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal(502, "upstream-failure", { cause: error });
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? "").toLowerCase().split(/\s*,\s*/);
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name) && !named.includes(name)),
  );
}
