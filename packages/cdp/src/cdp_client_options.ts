import type { AbortOptions } from "@envport/wire";

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
  /** Host and port of the binding's own URL, where the capability's leads to a forwarder. */
  authority?: string | undefined;
}
