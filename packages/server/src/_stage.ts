import type net from "node:net";
import type { ByteStream } from "@envport/wire";
import type { Logger } from "./logger.ts";
import type { ServerTlsOptions } from "./serve.ts";

/** Takes connections of one stage of a transport: TCP, then TLS, then WebSocket. */
export interface Stage {
  /** Takes a connection; what comes of it goes to the next stage. */
  accept(this: void, socket: net.Socket): void;
  /** Ends what has not reached the next stage. */
  close(this: void): void;
}

/** What a listener needs. */
export interface ListenerContext {
  tls: ServerTlsOptions | undefined;
  allowedOrigins: readonly string[];
  maxFrameBytes: number;
  maxConnections: number;
  /** How long TLS and HTTP may take before the first frame, in milliseconds. */
  prefaceTimeout: number;
  logger: Logger;
  /**
   * Called with each connection.
   *
   * @param stream Nothing has been read from it.
   * @param source Where it comes from: an address, or `"unix"`.
   */
  onStream(this: void, stream: ByteStream, source: string): void;
}

/** The address that a connection comes from; an IPv4 address in its own form. */
export function sourceOf({ remoteAddress = "unix" }: net.Socket): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/, "");
}
