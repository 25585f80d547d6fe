import type net from "node:net";
import type { AbortOptions } from "@envport/wire";
import { EnvportError, WebSocketStream } from "@envport/wire";
import type { WebSocket } from "ws";

/** Room for the longest frame and what goes with it. */
const SLACK_BYTES = 64 * 1024;
/** What a proxy or an ingress answers while nothing is behind it yet. */
const NOT_YET: ReadonlySet<number> = new Set([404, 502, 503, 504]);

/**
 * Makes a WebSocket of a connection.
 *
 * @param socket The connection, TLS included.
 * @param url What is asked for.
 * @param options The longest frame; a signal that gives up.
 * @throws {EnvportError} `connection-lost` If nothing is there yet, `protocol-violation` if something else is,
 *   `authentication-failed` if it refuses, `unsupported` if the package `ws` is not installed.
 */
export async function dialWebSocket(
  socket: net.Socket,
  url: string,
  { maxFrameBytes, signal }: AbortOptions & { maxFrameBytes: number },
): Promise<WebSocketStream> {
  const webSocket = await newWebSocket(url, socket, maxFrameBytes + SLACK_BYTES);
  const giveUp = (): void => webSocket.terminate();
  signal?.addEventListener("abort", giveUp, { once: true });
  if (signal?.aborted) giveUp();
  try {
    return await new Promise<WebSocketStream>((resolve, reject) => {
      webSocket.once("open", () => resolve(new WebSocketStream(webSocket)));
      webSocket.once("error", reject);
      webSocket.once("unexpected-response", (_request, { statusCode = 0 }) => {
        webSocket.terminate();
        reject(refusal(url, statusCode));
      });
    });
  } catch (error) {
    socket.destroy();
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

async function newWebSocket(url: string, socket: net.Socket, maxPayload: number): Promise<WebSocket> {
  try {
    const { WebSocket } = await import("ws");
    return new WebSocket(url, { perMessageDeflate: false, maxPayload, createConnection: () => socket });
  } catch (error) {
    socket.destroy();
    throw new EnvportError(
      "unsupported",
      `Cannot connect to ${url} as the package 'ws' is not installed: run npm install ws`,
      { cause: error },
    );
  }
}

function refusal(url: string, status: number): EnvportError {
  if (NOT_YET.has(status)) {
    return new EnvportError("connection-lost", `Cannot go on as ${url} answered with HTTP ${String(status)}`);
  }
  if (status === 401 || status === 403) {
    return new EnvportError(
      "authentication-failed",
      `Cannot connect as ${url} answered with HTTP ${String(status)}`,
    );
  }
  return new EnvportError(
    "protocol-violation",
    `Cannot connect as ${url} is no control port: it answered with HTTP ${String(status)}`,
  );
}
