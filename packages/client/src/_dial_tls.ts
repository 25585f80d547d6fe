import net from "node:net";
import tls from "node:tls";
import type { AbortOptions } from "@envport/wire";
import { EnvportError } from "@envport/wire";
import { established } from "./_dial_socket.ts";
import type { ClientTlsOptions } from "./client_tls_options.ts";

/**
 * Makes a TLS 1.3 connection of a TCP connection.
 *
 * @param raw The TCP connection.
 * @param host The url's host.
 * @param options Certificates, and a signal that gives up.
 * @throws {EnvportError} `authentication-failed` If the server's certificate is not the one that is wanted.
 */
export async function dialTls(
  raw: net.Socket,
  host: string,
  { ca, cert, key, serverName = host, signal }: ClientTlsOptions & AbortOptions,
): Promise<tls.TLSSocket> {
  const socket = tls.connect({
    socket: raw,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    // A name of a certificate may be an address, the name in the handshake (SNI) may not.
    host: serverName,
    ...(net.isIP(serverName) === 0 ? { servername: serverName } : {}),
    minVersion: "TLSv1.3",
  });
  socket.on("error", () => {});
  try {
    await established(socket, "secureConnect", signal);
  } catch (error) {
    raw.destroy();
    throw isAboutCertificates(error)
      ? new EnvportError(
          "authentication-failed",
          `Cannot trust the server at ${host} by its certificate: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
          { cause: error },
        )
      : error;
  }
  // Node resets plain TCP connections only; without a reset a cut would look like an end (TUN-3).
  socket.resetAndDestroy = () => {
    raw.resetAndDestroy();
    return socket.destroy();
  };
  return socket;
}

/** OpenSSL's words for what is wrong with a certificate (X509_V_ERR_…), Node's for a wrong name, and an alert about ours. */
function isAboutCertificates(error: unknown): boolean {
  const code = String((error as NodeJS.ErrnoException).code);
  return /CERT|SIGNATURE|ISSUER|ERR_TLS|ERR_SSL/.test(code) && !code.includes("UNEXPECTED_EOF");
}
