/* eslint-disable @typescript-eslint/no-deprecated -- old servers are what this is about */
/** Servers and clients of `@modelcontextprotocol/sdk`, the library's first generation. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Capability } from "@envport/wire";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { mcpCapability } from "./mcp_capability.ts";

const text = (content: string): { content: [{ type: "text"; text: string }] } => ({
  content: [{ type: "text", text: content }],
});

/** A server as most people have it. */
export function v1Server(): McpServer {
  const server = new McpServer({ name: "first", version: "1.0.0" });
  server.registerTool("add", { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) =>
    text(String(a + b)),
  );
  server.registerTool("slow", { inputSchema: { ticks: z.number() } }, async ({ ticks }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let progress = 1; progress <= ticks; progress++) {
      await sleep(10, undefined, { signal: extra.signal });
      if (progressToken === undefined) continue;
      await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress } });
    }
    return text(`ticks ${String(ticks)}`);
  });
  server.registerTool("whoami", {}, (extra) =>
    text(JSON.stringify({ session: extra.sessionId, agent: extra.requestInfo?.headers["user-agent"] })),
  );
  server.registerTool("fail", {}, () => {
    throw new Error("as told");
  });
  server.registerResource("greeting", "test://greeting", {}, (uri) => ({
    contents: [{ uri: uri.href, text: "hello" }],
  }));
  return server;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

async function listening(handler: Handler): Promise<number> {
  const server = createServer((request, response) => void handler(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Serves over streamable HTTP the way the library's own example does, until the test ends. */
export async function serveV1Http(): Promise<Capability> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const port = await listening(async (request, response) => {
    if (request.url === "/mcp/?moved") {
      request.resume();
      response.writeHead(307, { location: `http://${request.headers.host!}/mcp` }).end();
      return;
    }
    const body = request.method === "POST" ? await json(request) : undefined;
    let transport = transports.get(String(request.headers["mcp-session-id"]));
    if (!transport && isInitializeRequest(body)) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, made),
        enableDnsRebindingProtection: true,
        allowedHosts: [`127.0.0.1:${String(port)}`],
      });
      await v1Server().connect(made);
      transport = made;
    }
    if (transport) await transport.handleRequest(request, response, body);
    else response.writeHead(400).end("Bad Request: No valid session ID provided");
  });
  return mcpCapability({ url: `http://127.0.0.1:${String(port)}/mcp` });
}

/** Serves over HTTP with server-sent events, as servers did until 2025, until the test ends. */
export async function serveV1Sse(streams: ServerResponse[] = []): Promise<Capability> {
  const transports = new Map<string, SSEServerTransport>();
  const port = await listening(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost");
    if (request.method === "GET" && pathname === "/sse") {
      const transport = new SSEServerTransport("/messages", response);
      streams.push(response);
      transports.set(transport.sessionId, transport);
      return await v1Server().connect(transport);
    }
    const transport = transports.get(String(searchParams.get("sessionId")));
    if (transport && pathname === "/messages") await transport.handlePostMessage(request, response);
    else response.writeHead(404).end();
  });
  return mcpCapability({ url: `http://127.0.0.1:${String(port)}/sse`, transport: "sse" });
}
