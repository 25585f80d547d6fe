import type { AbortOptions, ByteStream } from "@envport/wire";

/** Options of `CdpClient.connect`. */
export interface CdpConnectOptions extends AbortOptions {
  /**
   * Milliseconds for each of: finding the browser's socket, its greeting, and attaching to the pages.
   *
   * @default {10_000}
   */
  connectTimeout?: number | undefined;
  /**
   * Milliseconds that the answer to a command may take, unless the command says otherwise.
   *
   * @default {30_000}
   */
  timeout?: number | undefined;
  /**
   * Milliseconds after which a page that answers nothing any more fails its commands with `target-hung`: a script that never
   * ends, not one that waits. 0 leaves it to the time-outs of the commands.
   *
   * @default {5_000}
   */
  hangTimeout?: number | undefined;
  /** Host and port of the binding's own URL, where the capability's leads to a forwarder. */
  authority?: string | undefined;
  /** Opens a stream to the browser in place of a connection to the capability's URL; TLS connections do not use it. */
  dial?: ((options?: AbortOptions) => Promise<ByteStream>) | undefined;
}
