import type { AbortOptions } from "./abort_options.ts";
import type { ByteStream } from "./byte_stream.ts";
import type { Capability } from "./capability.ts";

/** A client of a capability: whatever it offers, it can be closed. */
export interface CapabilityClient {
  /** Ends the connection. Idempotent. */
  close(): Promise<void>;
}

/** Options of {@linkcode Protocol.connect}. */
export interface ProtocolConnectOptions extends AbortOptions {
  /**
   * Host and port of the binding's own URL, where the capability's URL leads to a forwarder: what a TLS client checks
   * certificates against, and an HTTP client sends as Host (CLI-3).
   */
  authority?: string | undefined;
  /**
   * Opens a stream to the daemon without a local port between: the same as a connection to the capability's URL, one hop
   * shorter, and nobody else of this machine can get in. Absent where the URL leads to the daemon itself. Who does not use
   * it connects to the URL.
   *
   * @throws {ProtocolError} If the environment refuses.
   */
  dial?: ((options?: AbortOptions) => Promise<ByteStream>) | undefined;
}

/**
 * What a client can open: the seam between the client and every protocol package. `client.open(ssh)` finds the binding
 * of the family and returns what `connect` makes of it.
 *
 * @typeParam C The protocol's client.
 */
export interface Protocol<C extends CapabilityClient> {
  /** The part of the protocol id before the slash: `"ssh"`. */
  readonly family: string;
  /** The whole id: `"ssh/2"`. */
  readonly id: string;
  /**
   * Connects to the daemon behind a capability.
   *
   * @param capability Its URL can be dialled from here.
   */
  connect(capability: Capability, options?: ProtocolConnectOptions): Promise<C>;
}
