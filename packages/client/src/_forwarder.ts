import net from "node:net";
import type { ByteStream, Splice } from "@envport/wire";
import { EnvportError, FramedStream, SOCKET_OPTIONS, resetStream, splice } from "@envport/wire";
import type { Endpoint } from "./_dial.ts";
import { openTunnel } from "./_tunnel.ts";

/** Called with the reason why a tunnel could not be opened. */
export type RefusalListener = (error: Error) => void;

/**
 * A loopback port whose connections are tunnels to one capability (CLI-2). It outlives the control connection, so that
 * a resumed session keeps its local ports (CLI-9).
 */
export class Forwarder {
  /** The port on 127.0.0.1. */
  readonly port: number;
  readonly #listener: net.Server;
  readonly #endpoint: Endpoint;
  readonly #capability: string;
  readonly #onRefused: RefusalListener;
  readonly #tunnels = new Set<Splice>();
  readonly #closing = new AbortController();
  readonly #closed: Promise<void>;

  private constructor(
    listener: net.Server,
    endpoint: Endpoint,
    capability: string,
    onRefused: RefusalListener,
  ) {
    this.port = (listener.address() as net.AddressInfo).port;
    this.#listener = listener;
    this.#endpoint = endpoint;
    this.#capability = capability;
    this.#onRefused = onRefused;
    this.#closed = new Promise((resolve) => listener.once("close", resolve));
    listener.on("error", onRefused).on("connection", (socket) => {
      void this.#forward(socket);
    });
  }

  /**
   * Binds any free port on 127.0.0.1.
   *
   * @param endpoint The control port.
   * @param capability The name of the binding.
   * @param onRefused Called when a tunnel could not be opened (CLI-8).
   * @throws What the operating system says.
   */
  static async open(endpoint: Endpoint, capability: string, onRefused: RefusalListener): Promise<Forwarder> {
    const listener = net.createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true });
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject).listen({ host: "127.0.0.1", port: 0 }, () => {
        listener.off("error", reject);
        resolve();
      });
    });
    return new Forwarder(listener, endpoint, capability, onRefused);
  }

  /** Closes the port and resets its tunnels. Idempotent. */
  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#listener.close();
      this.#closing.abort(new EnvportError("closed", "Cannot forward as the client was closed"));
      for (const tunnel of this.#tunnels) tunnel.abort();
    }
    await this.#closed;
  }

  async #forward(local: ByteStream): Promise<void> {
    // Holds what the local side says, and notices when it leaves, until the tunnel is there.
    const held = new FramedStream(local);
    const { lost } = held;
    try {
      const signal = AbortSignal.any([lost, this.#closing.signal]);
      const remote = await openTunnel(this.#endpoint, this.#capability, { signal });
      // The server watches half-closed tunnels; this end follows it.
      const tunnel = splice(held.release(), remote, { halfCloseTimeout: 0 });
      this.#tunnels.add(tunnel);
      if (this.#closing.signal.aborted) tunnel.abort();
      await tunnel.closed;
      this.#tunnels.delete(tunnel);
    } catch (error) {
      held.release();
      local.on("error", () => {});
      resetStream(local);
      if (!lost.aborted && !this.#closing.signal.aborted) this.#onRefused(error as Error);
    }
  }
}
