import { connect, isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { WebSocket } from "ws";
import type { McpTarget } from "./_mcp_target.ts";
import { MAX_PAYLOAD, SUBPROTOCOL, WebSocketTransport } from "./_web_socket_transport.ts";

/** An HTTP answer instead of a WebSocket. */
export class HandshakeError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the server answered the handshake with HTTP ${String(status)}`);
    this.status = status;
  }
}

/**
 * Opens a WebSocket to a server. Messages that came with the handshake wait until the transport is started.
 *
 * @throws {HandshakeError} If the server answers with HTTP.
 */
export async function openWebSocket(target: McpTarget, signal: AbortSignal): Promise<WebSocketTransport> {
  signal.throwIfAborted();
  const { url, dial, authToken } = target;
  const socket = new WebSocket(url, SUBPROTOCOL, {
    createConnection: (): Socket => {
      if (url.protocol !== "wss:") return connect({ ...dial, noDelay: true });
      const servername = isIP(url.hostname.replace(/^\[|\]$/g, "")) === 0 ? url.hostname : "";
      return connectTls({ ...dial, servername });
    },
    headers: authToken === undefined ? {} : { authorization: `Bearer ${authToken}` },
    maxPayload: MAX_PAYLOAD,
    perMessageDeflate: false,
    // One message for each turn of the event loop: a reply must not overtake the progress that came with it.
    allowSynchronousEvents: false,
  });
  const giveUp = (): void => socket.terminate();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await new Promise((resolve, reject) => {
      socket
        .once("open", () => resolve(new WebSocketTransport(socket)))
        .once("error", reject)
        .once("unexpected-response", (request, { statusCode = 0 }) => {
          reject(new HandshakeError(statusCode));
          request.destroy();
        });
    });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
