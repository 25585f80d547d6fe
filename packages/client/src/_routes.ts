import type { AbortOptions, ByteStream, Capability } from "@envport/wire";
import { EnvportError, parseCapabilityUrl, routeUrl } from "@envport/wire";
import type { Endpoint } from "./_dial.ts";
import { Forwarder } from "./_forwarder.ts";
import { isPublicHost } from "./_is_public_host.ts";
import { openTunnel } from "./_tunnel.ts";

/** Options of {@linkcode Routes}. */
export interface RoutesOptions {
  /** The control port. */
  endpoint: Endpoint;
  /** Whether bindings on public addresses go without a forwarder (CLI-3). */
  direct: boolean;
  /** Called when a tunnel could not be opened (CLI-8). */
  onRefused(this: void, name: string, error: Error): void;
}

/** The local addresses of an environment's bindings: a forwarder each (CLI-2), kept over a resume (CLI-9). */
export class Routes {
  readonly #options: RoutesOptions;
  readonly #forwarders = new Map<string, Forwarder>();
  readonly #refusals = new Map<string, Error>();
  /** Streams that were dialled without a forwarder. */
  readonly #streams = new Set<ByteStream>();
  #closed = false;

  /** @param options Where tunnels lead. */
  constructor(options: RoutesOptions) {
    this.#options = options;
  }

  /**
   * Brings the forwarders in line with what the environment publishes; those that are there keep their ports.
   *
   * @param bindings What it publishes now.
   * @throws What the operating system says when a port cannot be bound.
   */
  async update(bindings: readonly Capability[]): Promise<void> {
    const wanted = new Map(
      bindings.filter((binding) => this.#isForwarded(binding)).map((one) => [one.name, one]),
    );
    const added = [...wanted.keys()].filter((name) => !this.#forwarders.has(name));
    const results = await Promise.allSettled(added.map((name) => this.#add(name)));
    for (const [name, forwarder] of this.#forwarders) {
      if (wanted.has(name)) continue;
      this.#forwarders.delete(name);
      void forwarder.close();
    }
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  async #add(name: string): Promise<void> {
    const forwarder = await Forwarder.open(this.#options.endpoint, name, (error) =>
      this.#refused(name, error),
    );
    if (this.#closed) {
      await forwarder.close();
      throw new EnvportError("closed", "Cannot forward as the client was closed");
    }
    this.#forwarders.set(name, forwarder);
  }

  #refused(name: string, error: Error): void {
    this.#refusals.set(name, error);
    this.#options.onRefused(name, error);
  }

  /**
   * Opens a stream to a capability's daemon, without a local port between.
   *
   * @param name The binding's name.
   * @param options A signal that gives up.
   * @returns A paused stream; nothing has been read from it, and it has an `error` listener.
   * @throws {ProtocolError} If the environment refuses (CLI-8).
   */
  async dial(name: string, { signal }: AbortOptions = {}): Promise<ByteStream> {
    try {
      const { stream, head, ended } = await openTunnel(this.#options.endpoint, name, { signal });
      stream.on("error", () => {}).pause();
      if (this.#closed || ended) {
        stream.destroy();
        throw new EnvportError(
          this.#closed ? "closed" : "connection-lost",
          `Cannot open '${name}' as ${this.#closed ? "the client was closed" : "its daemon has ended the stream"}`,
        );
      }
      if (head.length > 0) stream.unshift(head);
      this.#streams.add(stream);
      stream.once("close", () => this.#streams.delete(stream));
      return stream;
    } catch (error) {
      if (!signal?.aborted && !this.#closed) this.#refused(name, error as Error);
      throw error;
    }
  }

  #isForwarded({ url }: Capability): boolean {
    if (!this.#options.direct) return true;
    try {
      return !isPublicHost(parseCapabilityUrl(url).host);
    } catch {
      // Whoever asks for this binding is told.
      return true;
    }
  }

  /** Whether a binding's address is one of here. */
  has({ name }: Capability): boolean {
    return this.#forwarders.has(name);
  }

  /**
   * A capability with a url that can be dialled from here.
   *
   * @param capability As the environment published it.
   * @throws {TypeError} If its url cannot be read.
   */
  route(capability: Capability): Capability {
    const forwarder = this.#forwarders.get(capability.name);
    if (!forwarder) return capability;
    return { ...capability, url: routeUrl(capability.url, { host: "127.0.0.1", port: forwarder.port }) };
  }

  /**
   * Makes a connection through a forwarder; where its tunnel is refused, the reason is what is thrown: the one who
   * connects sees no more than a reset.
   *
   * @param name The binding's name.
   * @param connect Makes the connection.
   * @throws {EnvportError} If the tunnel was refused (`connection-lost`).
   * @throws Whatever else `connect` throws.
   */
  async explain<T>(name: string, connect: () => Promise<T>): Promise<T> {
    this.#refusals.delete(name);
    try {
      return await connect();
    } catch (error) {
      const cause = this.#refusals.get(name);
      if (!cause) throw error;
      const message = `Cannot open '${name}' as its tunnel was refused: ${cause.message}`;
      throw new EnvportError("connection-lost", message, { cause });
    }
  }

  /** Closes the ports and resets the tunnels. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stream of this.#streams) stream.destroy();
    await Promise.all([...this.#forwarders.values()].map((forwarder) => forwarder.close()));
  }
}
