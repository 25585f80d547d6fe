import { SOCKET_OPTIONS, resetStream, splice } from "@envport/wire";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Options of {@linkcode PortForward.listen}. */
export interface PortForwardOptions {
  /**
   * The local port; 0 is any.
   *
   * @default {0}
   */
  localPort?: number | undefined;
}

/**
 * A port inside as a port here, on 127.0.0.1. `SshClient.forward` makes it.
 *
 * A connection that cannot be made inside is closed with a reset.
 *
 * @example
 * ```ts no-run
 * import type { SshClient } from "@envport/ssh";
 *
 * async function look(shell: SshClient): Promise<string> {
 *   await using web = await shell.forward(8080);
 *   const answer = await fetch(`http://127.0.0.1:${String(web.port)}/`);
 *   return await answer.text();
 * }
 * ```
 */
export class PortForward implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(open: () => Promise<Duplex>) {
    this.#server = createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined).once("close", () => this.#sockets.delete(socket));
      open().then(
        (stream) => splice(socket, stream),
        () => resetStream(socket),
      );
    });
  }

  /**
   * Listens.
   *
   * @param open Makes the connection inside.
   * @param options The local port.
   */
  static async listen(open: () => Promise<Duplex>, options: PortForwardOptions = {}): Promise<PortForward> {
    const forward = new PortForward(open);
    forward.#server.listen({ host: "127.0.0.1", port: options.localPort ?? 0 });
    await once(forward.#server, "listening");
    return forward;
  }

  /** The local port. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Stops listening and ends the connections. Idempotent. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
