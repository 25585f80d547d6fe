import net from "node:net";
import { EnvportError, SOCKET_OPTIONS } from "@envport/wire";

/**
 * Connects to a TCP port, or a unix socket. A name with addresses of both families is tried at both, the second 250 ms
 * after the first (RFC 8305).
 *
 * @param address Where.
 * @param signal Gives up.
 * @returns A socket that nothing reads from, with an `error` listener.
 */
export async function dialSocket(
  address: { host: string; port: number } | { path: string },
  signal: AbortSignal | undefined,
): Promise<net.Socket> {
  signal?.throwIfAborted();
  const socket = net.connect({ ...address, ...SOCKET_OPTIONS, autoSelectFamily: true });
  socket.on("error", () => {});
  await established(socket, "connect", signal);
  return socket;
}

/**
 * Waits until a connection stands.
 *
 * @param socket It is destroyed when the signal aborts.
 * @param event What tells that it stands.
 * @param signal Gives up.
 * @throws What the socket emits as its error; the signal's reason.
 */
export async function established(
  socket: net.Socket,
  event: "connect" | "secureConnect",
  signal: AbortSignal | undefined,
): Promise<void> {
  const giveUp = (): void => void socket.destroy();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket
        .once(event, resolve)
        .once("error", reject)
        .once("close", () => {
          reject(
            new EnvportError(
              "connection-lost",
              "Cannot go on as the connection was closed while it was being made",
            ),
          );
        });
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}
