import net from "node:net";
import type { AbortOptions, ByteStream } from "@envport/wire";
import { EnvportError, SOCKET_OPTIONS, parseCapabilityUrl } from "@envport/wire";
import { hostAndPort } from "./_host_and_port.ts";

/** Where a control port is, and how to reach it: the seam for transports. */
export interface Endpoint {
  /** As it is shown to people. */
  readonly url: string;
  /**
   * Opens one connection; nothing has been read from it, and it has an `error` listener.
   *
   * @throws What the operating system says; the signal's reason.
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
  const {
    scheme,
    host,
    port = DEFAULT_PORT,
  } = parseCapabilityUrl(url.includes("://") ? url : `tcp://${url}`);
  if (scheme !== "tcp") {
    throw new TypeError(
      `Cannot connect as the scheme of the url must be tcp: current value is ${JSON.stringify(scheme)}`,
    );
  }
  return {
    url: `tcp://${hostAndPort({ host, port })}`,
    dial: (options) => dialTcp(host, port, options),
  };
}

async function dialTcp(host: string, port: number, { signal }: AbortOptions = {}): Promise<ByteStream> {
  signal?.throwIfAborted();
  const socket = net.connect({ host, port, ...SOCKET_OPTIONS });
  // Nothing may read before its owner does. An error of a connected socket is followed by `close`, which the owner sees.
  socket.pause().on("error", () => {});
  const giveUp = (): void => void socket.destroy();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket
        .once("connect", resolve)
        .once("error", reject)
        .once("close", () => {
          reject(
            new EnvportError(
              "connection-lost",
              "Cannot go on as the connection was closed while it was being made",
            ),
          );
        });
    });
    return socket;
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}
