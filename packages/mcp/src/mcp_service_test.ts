import { McpServer } from "@modelcontextprotocol/server";
import { EnvportError } from "@envport/wire";
import type { Logger } from "@envport/wire";
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { json } from "node:stream/consumers";
import { describe, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { portOf, started, tunnelled, until } from "./_testing.ts";
import { everything } from "./_testing_everything.ts";
import { mcp } from "./mcp.ts";
import { McpClient } from "./mcp_client.ts";
import { mcpServer } from "./mcp_server.ts";
import type { McpService } from "./mcp_service.ts";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const ACCEPT = { accept: "application/json, text/event-stream", "content-type": "application/json" };

interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  message: string;
}

/** A request as it is on the wire, its Host too. */
async function raw(
  service: McpService,
  {
    method = "POST",
    path = "/mcp",
    headers = {},
    body = JSON.stringify(INITIALIZE),
  }: {
    method?: string;
    path?: string;
    headers?: Record<string, string>;
    body?: string | undefined;
  },
): Promise<Answer> {
  const request = httpRequest({
    host: "127.0.0.1",
    port: portOf(service.capability),
    method,
    path,
    headers: { ...ACCEPT, ...headers },
    agent: false,
  });
  request.end(method === "POST" ? body : undefined);
  const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
  const { statusCode: status = 0 } = response;
  if (status === 200) {
    response.destroy();
    return { status, headers: response.headers, message: "" };
  }
  const { error } = (await json(response)) as { error: { message: string } };
  return { status, headers: response.headers, message: error.message };
}

/** The HTTP status that a WebSocket handshake is answered with. */
async function handshake(
  service: McpService,
  headers: Record<string, string>,
  path = "/mcp",
): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${String(portOf(service.capability))}${path}`, "mcp", {
    headers,
  });
  try {
    return await new Promise((resolve, reject) => {
      socket.once("open", () => resolve(101));
      socket.once("unexpected-response", (_, { statusCode = 0 }) => resolve(statusCode));
      socket.on("error", reject);
    });
  } finally {
    socket.removeAllListeners("error").on("error", () => undefined);
    socket.terminate();
  }
}

describe("who comes in", () => {
  const good = ["127.0.0.1", "127.0.0.1:1", "localhost:65535", "LOCALHOST", "[::1]:9", "[::1]"];
  test.each(good)("a request to %s does, whatever its port", async (host) => {
    const service = await started();
    assert.equal((await raw(service, { headers: { host } })).status, 200);
    assert.equal(await handshake(service, { host }), 101);
  });

  const bad = ["evil.example.com", "127.0.0.1.nip.io", "10.0.0.5", "0.0.0.0", "localhost.evil.com", "a b"];
  test.each(bad)("a request to '%s' does not", async (host) => {
    const service = await started();
    assert.equal((await raw(service, { headers: { host } })).status, 403);
    assert.equal(await handshake(service, { host }), 403);
    assert.equal(service.sessions, 0);
  });

  test.each(["http://evil.example.com", "null", "file://", "https://127.0.0.1.nip.io"])(
    "a web page of %s does not",
    async (origin) => {
      const service = await started();
      assert.equal((await raw(service, { headers: { origin } })).status, 403);
      assert.equal(await handshake(service, { origin }), 403);
    },
  );

  test("a web page of this machine does, at any port", async () => {
    const service = await started();
    assert.equal((await raw(service, { headers: { origin: "http://localhost:3000" } })).status, 200);
  });

  test("names that were allowed do", async () => {
    const service = await started(undefined, { allowedHostnames: ["tools.internal"] });
    assert.equal((await raw(service, { headers: { host: "tools.internal:80" } })).status, 200);
    assert.equal((await raw(service, { headers: { host: "other.internal:80" } })).status, 403);
  });

  test.each([
    undefined,
    "Bearer wrong",
    "Bearer secret2",
    "Bearer secre",
    "Basic secret",
    "secret",
    "Bearer",
  ])("with a token, the authorization '%s' does not", async (authorization) => {
    const service = await started(undefined, { authToken: "secret" });
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const answer = await raw(service, { headers });
    assert.equal(answer.status, 401);
    assert.equal(answer.headers["www-authenticate"], "Bearer");
    assert.equal(await handshake(service, headers), 401);
  });

  test("with a token, who brings it does, and the capability carries it", async () => {
    const service = await started(undefined, { authToken: "secret" });
    assert.equal((await raw(service, { headers: { authorization: "bearer secret" } })).status, 200);
    assert.equal(await handshake(service, { authorization: "Bearer secret" }), 101);
    assert.equal(service.capability.params["auth_token"], "secret");
  });
});

describe("what is answered", () => {
  test("another path is not found, a slash more is no matter", async () => {
    const service = await started(undefined, { path: "/tools/mcp" });
    assert.equal((await raw(service, { path: "/mcp" })).status, 404);
    assert.equal((await raw(service, { path: "/tools/mcp/?x=1" })).status, 200);
    assert.equal(await handshake(service, {}, "/other"), 404);
  });

  test.each([
    ["{", 400, "Parse error: Invalid JSON"],
    ["", 400, "Parse error: Invalid JSON"],
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      400,
      "Bad Request: the header Mcp-Session-Id is required",
    ],
    ["[]", 400, "Bad Request: the header Mcp-Session-Id is required"],
  ])("the body %s without a session is refused", async (body, status, message) => {
    const service = await started();
    const answer = await raw(service, { body });
    assert.deepEqual([answer.status, answer.message], [status, message]);
    assert.equal(service.sessions, 0);
  });

  test("a request that cannot begin a session leaves none", async () => {
    const service = await started();
    assert.equal((await raw(service, { headers: { accept: "text/html" } })).status, 406);
    assert.equal((await raw(service, { headers: { "content-type": "text/plain" } })).status, 415);
    await until(() => service.sessions === 0);
  });

  test.each([true, false])(
    "a message over the limit is refused, announced (%s) or not",
    async (announced) => {
      const service = await started(undefined, { maxMessageBytes: 10_000 });
      const body = JSON.stringify({ ...INITIALIZE, pad: "x".repeat(1_000_000) });
      const headers: Record<string, string> = announced ? {} : { "transfer-encoding": "chunked" };
      const answer = await raw(service, { body, headers });
      assert.deepEqual(
        [answer.status, answer.message],
        [413, "Payload Too Large: a message must have at most 10000 bytes"],
      );
    },
  );

  test("an unknown session is not found, other methods are not allowed", async () => {
    const service = await started();
    const headers = { "mcp-session-id": "unknown" };
    for (const method of ["POST", "GET", "DELETE"]) {
      assert.equal((await raw(service, { method, headers })).status, 404, method);
    }
    assert.equal((await raw(service, { method: "GET" })).status, 400);
    const put = await raw(service, { method: "PUT" });
    assert.deepEqual([put.status, put.headers["allow"]], [405, "GET, POST, DELETE"]);
  });

  test("a server that cannot be made tells the client nothing, and the log everything", async () => {
    const entries: unknown[] = [];
    const logger: Logger = { log: (level, message, fields) => entries.push([level, message, fields]) };
    const failing = (): McpServer => {
      throw new Error("no /secret/path here");
    };
    const service = await started(failing, { logger });
    const answer = await raw(service, {});
    assert.deepEqual([answer.status, answer.message], [500, "Internal server error"]);
    const [[level, , fields]] = entries as [[string, string, { error: Error }]];
    assert.equal(level, "error");
    assert.match(fields.error.message, /secret/);
    const socket = new WebSocket(`ws://127.0.0.1:${String(portOf(service.capability))}/mcp`, "mcp");
    const [code, reason] = (await once(socket, "close")) as [number, Buffer];
    assert.deepEqual([code, String(reason)], [1013, "Internal server error"]);
  });

  test("sessions over the limit replace the one that is not used, or are refused", async () => {
    const service = await started(undefined, { maxSessions: 2 });
    const busy = await McpClient.connect(service.capability);
    onTestFinished(() => busy.close());
    assert.equal((await raw(service, {})).status, 200);
    assert.equal(service.sessions, 2);
    const second = await McpClient.connect(service.capability);
    onTestFinished(() => second.close());
    assert.equal(service.sessions, 2);
    const refused = await raw(service, {});
    assert.deepEqual(
      [refused.status, refused.message],
      [503, "Cannot open session as there must be at most 2"],
    );
    await busy.ping();
    await second.ping();
  });
});

describe("over a WebSocket", () => {
  async function open(service: McpService): Promise<WebSocket> {
    const socket = new WebSocket(`ws://127.0.0.1:${String(portOf(service.capability))}/mcp`, "mcp");
    onTestFinished(() => socket.terminate());
    await once(socket, "open");
    return socket;
  }

  async function next(socket: WebSocket): Promise<Record<string, unknown>> {
    const [data] = (await once(socket, "message")) as [Buffer];
    return JSON.parse(String(data)) as Record<string, unknown>;
  }

  test("what is sent while the server is being made is not lost", async () => {
    let make!: () => void;
    const made = new Promise<void>((resolve) => (make = resolve));
    const service = await started(async () => {
      await made;
      return everything();
    });
    const socket = await open(service);
    const ids: unknown[] = [];
    socket.on("message", (data: Buffer) => ids.push((JSON.parse(String(data)) as { id: unknown }).id));
    socket.send(JSON.stringify(INITIALIZE));
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" }));
    setTimeout(make, 50);
    await until(() => ids.length === 2);
    assert.deepEqual(ids.toSorted(), [1, 2]);
  });

  test("what is no message is answered with an error, and the session goes on", async () => {
    const socket = await open(await started());
    for (const [text, code] of [
      ["{", -32700],
      ["[]", -32600],
      ["7", -32600],
    ] as const) {
      socket.send(text);
      assert.equal(((await next(socket))["error"] as { code: number }).code, code);
    }
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" }));
    assert.deepEqual(await next(socket), { jsonrpc: "2.0", id: 2, result: {} });
  });

  test("bytes and messages that are too long end it", async () => {
    const service = await started(undefined, { maxMessageBytes: 1_000 });
    const first = await open(service);
    first.send(Buffer.from("{}"));
    assert.equal(((await once(first, "close")) as [number])[0], 1003);
    const second = await open(service);
    second.send("x".repeat(2_000));
    assert.equal(((await once(second, "close")) as [number])[0], 1009);
    await until(() => service.sessions === 0);
  });

  test("a tool whose client has gone is aborted", async () => {
    const stats = { started: 0, cancelled: 0 };
    const service = await started(() => everything(stats), { transport: "websocket" });
    const tools = await McpClient.connect(service.capability);
    const call = tools.callTool("slow", { ticks: 10_000, every: 20 }).catch(() => undefined);
    await until(() => stats.started === 1);
    await tools.close();
    await call;
    await until(() => stats.cancelled === 1);
  });
});

describe("the service", () => {
  test("listens on a socket in a private folder if it is told to, and removes it", async () => {
    const service = mcpServer(() => everything(), { socket: true });
    const client = await tunnelled(service);
    const { dial, url } = service.capability;
    assert.equal(url, "http://127.0.0.1:80/mcp");
    const { path } = dial as { path: string };
    assert.ok(existsSync(path));
    const tools = await client.open(mcp);
    assert.deepEqual((await tools.callTool("add", { a: 2, b: 3 })).structuredContent, { sum: 5 });
    await service.stop();
    assert.ok(!existsSync(path));
  });

  test("starts once, stops once, ends what is under way, and starts again", async () => {
    const service = await started();
    const [again] = await service.start();
    assert.equal(again, service.capability);
    const { closed } = service;
    const tools = await McpClient.connect(service.capability);
    onTestFinished(() => tools.close());
    const call = assert.rejects(tools.callTool("slow", { ticks: 10_000, every: 20 }), {
      code: "connection-lost",
    });
    await tools.ping();
    await Promise.all([service.stop(), service.stop()]);
    await call;
    assert.equal(await closed, undefined);
    assert.throws(() => service.capability, { name: "EnvportError", code: "closed" });
    await service.start();
    assert.equal((await raw(service, {})).status, 200);
  });

  test("that listens on every address publishes one that can be dialled", async () => {
    const service = await started(undefined, { host: "0.0.0.0" });
    assert.match(service.capability.url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const tools = await McpClient.connect(service.capability);
    await tools.close();
  });

  test("says that its address is taken", async () => {
    const first = await started();
    const second = mcpServer(() => everything(), { port: portOf(first.capability) });
    await assert.rejects(second.start(), (error) => {
      assert.ok(error instanceof EnvportError);
      assert.equal(error.code, "address-in-use");
      assert.match(error.message, /^Cannot start MCP server 'tools' as 127\.0\.0\.1:\d+ is in use$/);
      return true;
    });
    await second.stop();
  });

  test("refuses what is no server, and paths that are none", () => {
    assert.throws(() => mcpServer({} as never), {
      name: "TypeError",
      message: /^Cannot serve MCP server as it must be a server or a function that makes one/,
    });
    for (const path of ["mcp", "/", "/mcp/", "/m cp", "/mcp?x"]) {
      assert.throws(() => mcpServer(() => everything(), { path }), { name: "TypeError" });
    }
  });

  test("publishes what it was told to", async () => {
    const service = await started(undefined, { name: "files", transport: "websocket", path: "/x" });
    const { name, url, params } = service.capability;
    assert.deepEqual([name, params], ["files", { transport: "websocket" }]);
    assert.match(url, /^ws:\/\/127\.0\.0\.1:\d+\/x$/);
    assert.equal(service.name, "MCP server 'files'");
  });
});
