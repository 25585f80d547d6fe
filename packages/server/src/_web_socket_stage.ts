import http from "node:http";
import type net from "node:net";
import { EnvportError, WebSocketStream } from "@envport/wire";
import type { WebSocketServer } from "ws";
import { sourceOf } from "./_stage.ts";
import type { ListenerContext, Stage } from "./_stage.ts";

const ADVICE =
  "This is an envport control port. It speaks JSON-RPC over WebSocket: connect with a ws client.\n";
/** Room for the longest frame and what goes with it: the reader of frames says what the limit is. */
const SLACK_BYTES = 64 * 1024;

/**
 * Makes WebSocket connections of HTTP connections. Browsers say where a page comes from: it has to be allowed by name.
 *
 * @param path The path that is served.
 * @param context Who takes the connections, which origins may, limits.
 * @throws {EnvportError} `unsupported` If the package `ws` is not installed.
 */
export async function webSocketStage(path: string, context: ListenerContext): Promise<Stage> {
  const { maxFrameBytes, prefaceTimeout, allowedOrigins, logger, onStream } = context;
  const sockets = await makeWebSocketServer(maxFrameBytes + SLACK_BYTES);
  const server = http.createServer((_request, response) => {
    response
      .writeHead(426, { "Content-Type": "text/plain", Upgrade: "websocket", Connection: "close" })
      .end(ADVICE);
  });
  server.headersTimeout = server.requestTimeout = prefaceTimeout;
  server.on("upgrade", (request, socket: net.Socket, head) => {
    const { origin } = request.headers;
    if (origin !== undefined && !allowedOrigins.includes(origin)) {
      logger.log("warn", "a web page asked for a WebSocket and was refused", { origin });
      refuse(socket, 403, "Forbidden");
    } else if (request.url?.split("?", 1)[0] !== path) {
      refuse(socket, 404, "Not Found");
    } else {
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        onStream(new WebSocketStream(webSocket), sourceOf(socket));
      });
    }
  });
  return {
    accept: (socket) => void server.emit("connection", socket),
    close: () => server.closeAllConnections(),
  };
}

async function makeWebSocketServer(maxPayload: number): Promise<WebSocketServer> {
  try {
    const { WebSocketServer } = await import("ws");
    return new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      maxPayload,
      clientTracking: false,
    });
  } catch (error) {
    throw new EnvportError(
      "unsupported",
      "Cannot listen on ws:// or wss:// as the package 'ws' is not installed: run npm install ws",
      { cause: error },
    );
  }
}

function refuse(socket: net.Socket, status: number, reason: string): void {
  socket.on("error", () => {});
  socket.end(`HTTP/1.1 ${String(status)} ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
