import net from "node:net";
import type { AbortOptions, ByteStream, ReleasedStream, Splice } from "@envport/wire";
import {
  EnvportError,
  FramedStream,
  ProtocolError,
  SOCKET_OPTIONS,
  encodeFrame,
  parseFrame,
  readReply,
  resetStream,
  splice,
} from "@envport/wire";
import type { Endpoint } from "./_dial.ts";

/** How long the server may take to answer `tunnel.open`: its own dial time-out and some. */
const OPEN_TIMEOUT_MS = 15_000;

/**
 * Opens one capability stream: a connection of its own, whose first frame names the capability (CONN-1).
 *
 * @param endpoint The control port.
 * @param capability The name of the binding.
 * @param options A signal that gives up.
 * @returns The stream, and the bytes that came with the reply (FRAME-3).
 * @throws {ProtocolError} If the server refuses.
 * @throws {EnvportError} If it does not answer (`timeout`, `connection-lost`).
 */
export async function openTunnel(
  endpoint: Endpoint,
  capability: string,
  { signal }: AbortOptions = {},
): Promise<ReleasedStream> {
  const timeout = AbortSignal.timeout(OPEN_TIMEOUT_MS);
  const combined = AbortSignal.any(signal ? [signal, timeout] : [timeout]);
  const stream = await endpoint.dial({ signal: combined });
  try {
    const framed = new FramedStream(stream);
    stream.write(encodeFrame({ id: 1, method: "tunnel.open", params: { capability } }));
    const line = await framed.read({ signal: combined });
    if (line === undefined) throw new EnvportError("connection-lost", `Cannot open '${capability}' as the server closed the connection`);
    const { error } = readReply(parseFrame(line));
    if (error) throw error;
    return framed.release();
  } catch (error) {
    stream.destroy();
    if (!timeout.aborted) throw error;
    throw new EnvportError("timeout", `Cannot open '${capability}' as the server did not answer within ${String(OPEN_TIMEOUT_MS / 1000)} s`, {
      cause: error,
    });
  }
}

/** Called with the reason why a tunnel could not be opened. */
export type RefusalListener = (error: Error) => void;

/**
 * A loopback port whose connections are tunnels to one capability (CLI-2). It outlives the control connection, so that
 * a resumed session keeps its local ports (CLI-9).
 */
export class Forwarder {
  readonly #endpoint: Endpoint;
  readonly #capability: string;
  readonly #onRefused: RefusalListener;
  readonly #listener: net.Server;
  readonly #tunnels = new Set<Splice>();
  readonly #closing = new AbortController();

  /**
   * @param endpoint The control port.
   * @param capability The name of the binding.
   * @param onRefused Called when a tunnel could not be opened (CLI-8).
   */
  constructor(endpoint: Endpoint, capability: string, onRefused: RefusalListener) {
    this.#endpoint = endpoint;
    this.#capability = capability;
    this.#onRefused = onRefused;
    this.#listener = net.createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) => {
      void this.#forward(socket);
    });
  }

  /** The port on 127.0.0.1. */
  get port(): number {
    return (this.#listener.address() as net.AddressInfo).port;
  }

  /** Binds any free port on 127.0.0.1. */
  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#listener.once("error", reject).listen({ host: "127.0.0.1", port: 0 }, resolve);
    });
  }

  /** Closes the port and resets its tunnels. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(new EnvportError("closed", "Cannot forward as the client was closed"));
    for (const tunnel of this.#tunnels) tunnel.abort();
    if (!this.#listener.listening) return;
    await new Promise<void>((resolve) => this.#listener.close(() => { resolve(); }));
  }

  async #forward(local: ByteStream): Promise<void> {
    // Holds what the local side says, and notices when it leaves, until the tunnel is there.
    const held = new FramedStream(local);
    try {
      const signal = AbortSignal.any([held.lost, this.#closing.signal]);
      const remote = await openTunnel(this.#endpoint, this.#capability, { signal });
      // The server watches half-closed tunnels; this end follows it.
      const tunnel = splice(held.release(), remote, { halfCloseTimeout: 0 });
      this.#tunnels.add(tunnel);
      if (this.#closing.signal.aborted) tunnel.abort();
      await tunnel.closed;
      this.#tunnels.delete(tunnel);
    } catch (error) {
      const gone = held.lost.aborted || this.#closing.signal.aborted;
      held.release();
      local.on("error", () => {});
      resetStream(local);
      if (!gone) this.#onRefused(error as ProtocolError | EnvportError);
    }
  }
}
