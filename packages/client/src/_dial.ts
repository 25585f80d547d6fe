import type { AbortOptions, ByteStream, EndpointUrl, JsonObject, TokenSource } from "@envport/wire";
import { MAX_FRAME_BYTES, formatEndpointUrl, parseEndpointUrl, readToken } from "@envport/wire";
import { dialSocket } from "./_dial_socket.ts";
import { dialTls } from "./_dial_tls.ts";
import { dialWebSocket } from "./_dial_web_socket.ts";
import { connectThroughProxy, findProxy } from "./_proxy.ts";
import type { ClientTlsOptions } from "./client_tls_options.ts";

/** Where a control port is, and how to reach it: the seam for transports (CONN-5). */
export interface Endpoint {
  /** As it is shown to people. */
  readonly url: string;
  /** What the first frame of a connection carries besides (SESS-10). */
  readonly credentials: JsonObject;
  /**
   * Opens one connection; nothing has been read from it, and it has an `error` listener.
   *
   * @throws What the operating system says; the signal's reason.
   */
  dial(options?: AbortOptions): Promise<ByteStream>;
}

/** Options of {@linkcode parseEndpoint}. */
export interface EndpointOptions {
  tls?: ClientTlsOptions | undefined;
  proxy?: string | boolean | undefined;
  token?: TokenSource | undefined;
  maxFrameBytes?: number | undefined;
}

/**
 * Reads the address of a served environment, and the token if there is one.
 *
 * @param url `tcp://host:port`, `tls://`, `ws://host:port/path`, `wss://`, `unix:///path`; without a scheme it is tcp.
 * @param options Certificates, proxy, token.
 * @throws {TypeError} If the url or the proxy's cannot be read, or the token cannot.
 */
export function parseEndpoint(url: string, options: EndpointOptions = {}): Endpoint {
  const endpoint = parseEndpointUrl(url);
  if ("port" in endpoint && endpoint.port === 0) {
    throw new TypeError(`Cannot connect as the port of the url must be 1 to 65535: current value is 0`);
  }
  const proxy = "host" in endpoint ? findProxy(endpoint, options.proxy) : undefined;
  return {
    url: formatEndpointUrl(endpoint),
    credentials: options.token === undefined ? {} : { token: readToken(options.token) },
    dial: async (abort = {}) => {
      const dialled = await dial(endpoint, { ...options, ...abort, proxy });
      // Nothing may read before its owner does. An error is followed by `close`, which the owner sees.
      return dialled.on("error", () => {}).pause();
    },
  };
}

async function dial(
  endpoint: EndpointUrl,
  options: Omit<EndpointOptions, "proxy"> & AbortOptions & { proxy: URL | undefined },
): Promise<ByteStream> {
  const { signal, proxy, tls, maxFrameBytes = MAX_FRAME_BYTES } = options;
  if (endpoint.scheme === "unix") return await dialSocket({ path: endpoint.path }, signal);
  const { scheme, host, port } = endpoint;
  const socket = proxy
    ? await connectThroughProxy(proxy, { host, port }, signal)
    : await dialSocket({ host, port }, signal);
  if (scheme === "tcp") return socket;
  const secured = scheme === "ws" ? socket : await dialTls(socket, host, { ...tls, signal });
  if (scheme === "tls") return secured;
  return await dialWebSocket(secured, formatEndpointUrl(endpoint), { maxFrameBytes, signal });
}
