import type net from "node:net";
import tls from "node:tls";
import type { ListenerContext, Stage } from "./_stage.ts";

/**
 * Makes TLS 1.3 connections of TCP connections, with a client's certificate where `ca` is given.
 *
 * @param next Who takes them.
 * @param context The keys, the time for a handshake, the log.
 */
export function tlsStage(next: Stage, context: ListenerContext): Stage {
  const { tls: keys, prefaceTimeout, logger } = context;
  if (!keys)
    throw new TypeError("Cannot listen on tls:// or wss:// as 'tls' with a key and a certificate is missing");
  const { key, cert, ca } = keys;
  /** TCP connections by the address of their other end, from which a TLS connection does not tell its own. */
  const pending = new Map<string, net.Socket>();
  const server = tls.createServer({
    key,
    cert,
    ...(ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true }),
    minVersion: "TLSv1.3",
    handshakeTimeout: prefaceTimeout,
    allowHalfOpen: true,
  });
  server.on("secureConnection", (socket) => {
    const raw = pending.get(addressOf(socket));
    pending.delete(addressOf(socket));
    if (!raw) {
      socket.destroy();
      return;
    }
    // Node resets plain TCP connections only; without a reset a cut would look like an end (TUN-3).
    socket.resetAndDestroy = () => {
      raw.resetAndDestroy();
      return socket.destroy();
    };
    next.accept(socket);
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    logger.log("warn", "a TLS handshake failed", { reason: error.code ?? error.message });
    socket.destroy();
  });
  return {
    accept: (raw) => {
      const address = addressOf(raw);
      pending.set(address, raw);
      raw.once("close", () => {
        if (pending.get(address) === raw) pending.delete(address);
      });
      raw.on("error", () => {}); // the TLS connection tells of it
      server.emit("connection", raw);
    },
    close: () => {
      for (const raw of pending.values()) raw.destroy();
      next.close();
    },
  };
}

function addressOf({ remoteAddress, remotePort }: net.Socket): string {
  return `${String(remoteAddress)} ${String(remotePort)}`;
}
