/** Certificates of a connection by `tls://` or `wss://`, in PEM form (CONN-5). */
export interface ClientTlsOptions {
  /**
   * The authority that the server's certificate must come from.
   *
   * @default the authorities that Node knows
   */
  readonly ca?: string | Buffer | undefined;
  /** This client's certificate, where the server asks for one. */
  readonly cert?: string | Buffer | undefined;
  /** The key of `cert`. */
  readonly key?: string | Buffer | undefined;
  /**
   * The name that the server's certificate must have.
   *
   * @default the url's host
   */
  readonly serverName?: string | undefined;
}
