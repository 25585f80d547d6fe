/** A service that the sandbox may reach, whatever its network. */
export interface Peer {
  /** Its host name inside. */
  readonly name: string;
  /** Its port inside, on the sandbox's own loopback; from 1024 on, and each peer's own. */
  readonly port: number;
  /** Where it is outside: a TCP port, of the loopback unless a host is named, or a unix socket. */
  readonly target: { readonly host?: string | undefined; readonly port: number } | { readonly path: string };
}
