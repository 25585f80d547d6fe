import net from "node:net";
import type { AbortOptions, ByteStream } from "@envport/wire";
import { SOCKET_OPTIONS, parseCapabilityUrl } from "@envport/wire";

/** Where a control port is, and how to reach it: the seam for transports. */
export interface Endpoint {
  /** As it is shown to people. */
  readonly url: string;
  /**
   * Opens one connection; nothing has been read from it, and it has an `error` listener.
   *
   * @throws What the operating system says.
   */
  dial(options?: AbortOptions): Promise<ByteStream>;
}

/** The port of a url without one. */
const DEFAULT_PORT = 8765;

/**
 * Reads the address of a served environment.
 *
 * @param url `tcp://host:port`; the scheme may be left out, the port is 8765 if absent.
 * @throws {TypeError} If the url cannot be read, or its scheme is not supported.
 */
export function parseEndpoint(url: string): Endpoint {
  const { scheme, host, port = DEFAULT_PORT } = parseCapabilityUrl(url.includes("://") ? url : `tcp://${url}`);
  if (scheme !== "tcp") {
    throw new TypeError(`Cannot connect as the scheme of the url must be tcp: current value is ${JSON.stringify(url)}`);
  }
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return {
    url: `tcp://${shownHost}:${String(port)}`,
    dial: (options) => dialTcp(host, port, options),
  };
}

async function dialTcp(host: string, port: number, { signal }: AbortOptions = {}): Promise<ByteStream> {
  signal?.throwIfAborted();
  const socket = net.connect({ host, port, ...SOCKET_OPTIONS });
  socket.pause();
  const giveUp = (): void => void socket.destroy(signal?.reason as Error);
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      // This listener stays: an error of a connected socket is followed by `close`, which its reader looks at.
      socket.on("error", reject).once("connect", resolve);
    });
    return socket;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}
