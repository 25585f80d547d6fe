// The library's first generation, which most people have, on either side.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, onTestFinished, test } from "vitest";
import { at, portOf, proxied, started, tunnelled, until } from "./_testing.ts";
import { serveV1Http, serveV1Sse, v1Server } from "./_testing_v1.ts";
import { mcp } from "./mcp.ts";
import { McpClient } from "./mcp_client.ts";
import { mcpServer } from "./mcp_server.ts";

async function v1Client(url: string, token?: string): Promise<Client> {
  const client = new Client({ name: "first", version: "1.0.0" });
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

describe("a client of the first generation, through a forwarder, with a token", () => {
  test.each(["instance of a server", "function that makes servers"])(
    "to our service of an %s",
    async (kind) => {
      const server = kind.startsWith("instance") ? v1Server() : v1Server;
      const client = await tunnelled(mcpServer(server, { authToken: "secret" }));
      const tools = await v1Client(client.binding("mcp").url, "secret");
      const names = (await tools.listTools()).tools.map(({ name }) => name);
      assert.deepEqual(names, ["add", "slow", "whoami", "fail"]);
      const sum = await tools.callTool({ name: "add", arguments: { a: 2, b: 3 } });
      assert.deepEqual(sum.content, [{ type: "text", text: "5" }]);
      let seen = 0;
      const slow = { name: "slow", arguments: { ticks: 10 } };
      await tools.callTool(slow, undefined, { onprogress: () => seen++ });
      assert.equal(seen, 10);
      assert.equal((await tools.callTool({ name: "fail" })).isError, true);
    },
  );
});

test.each(["streamable-http", "websocket"] as const)(
  "our service serves a server of the first generation over %s, with its sessions and request headers",
  async (transport) => {
    const client = await tunnelled(mcpServer(v1Server, { transport }));
    const tools = await client.open(mcp);
    assert.deepEqual((await tools.callTool("add", { a: 2, b: 3 })).content, [{ type: "text", text: "5" }]);
    const { content } = await tools.callTool("whoami");
    const { session } = JSON.parse((content[0] as { text: string }).text) as { session?: string };
    assert.equal(session, tools.client.transport!.sessionId);
    const seen: number[] = [];
    await tools.callTool("slow", { ticks: 5 }, { onProgress: ({ progress }) => seen.push(progress) });
    assert.deepEqual(seen, [1, 2, 3, 4, 5]);
  },
);

test("calls that a client of the first generation cancels give their connections back", async () => {
  const service = await started(v1Server);
  const proxy = await proxied(portOf(service.capability));
  const tools = await v1Client(at(proxy.port, service.capability).url);
  for (let i = 0; i < 10; i++) {
    const controller = new AbortController();
    const options = { signal: controller.signal, onprogress: () => controller.abort() };
    await assert.rejects(tools.callTool({ name: "slow", arguments: { ticks: 10_000 } }, undefined, options));
  }
  // The library's client keeps a few connections to use them again; without an end, there are ten more.
  await until(() => proxy.open < 8);
});

test("a server of the first generation finds the headers of the request where it looks for them", async () => {
  const { capability } = await started(v1Server);
  const client = new Client({ name: "first", version: "1.0.0" });
  const requestInit = { headers: { "user-agent": "test-agent/1" } };
  await client.connect(new StreamableHTTPClientTransport(new URL(capability.url), { requestInit }));
  onTestFinished(() => client.close());
  const { content } = (await client.callTool({ name: "whoami" })) as unknown as {
    content: [{ text: string }];
  };
  assert.match(content[0].text, /"agent":"test-agent\/1"/);
});

test.each([
  ["HTTP", serveV1Http],
  ["server-sent events", serveV1Sse],
] as const)(
  "our client drives a server of the first generation over %s, through a forwarder",
  async (_, serve) => {
    const client = await tunnelled(await serve());
    const tools = await client.open(mcp);
    assert.deepEqual(
      (await tools.listTools()).map(({ name }) => name),
      ["add", "slow", "whoami", "fail"],
    );
    const calls = Array.from({ length: 50 }, (_, i) => tools.callTool("add", { a: i, b: 1 }));
    for (const [i, { content }] of (await Promise.all(calls)).entries()) {
      assert.deepEqual(content, [{ type: "text", text: String(i + 1) }]);
    }
    let seen = 0;
    await tools.callTool("slow", { ticks: 10 }, { onProgress: () => seen++ });
    assert.ok(seen >= 9, String(seen));
    assert.equal((await tools.callTool("fail")).isError, true);
    assert.deepEqual(await tools.readResource("test://greeting"), [
      { uri: "test://greeting", text: "hello" },
    ]);
    const controller = new AbortController();
    const reason = new Error("enough");
    const options = { signal: controller.signal, onProgress: () => controller.abort(reason) };
    await assert.rejects(tools.callTool("slow", { ticks: 10_000 }, options), reason);
  },
);

const breaks = ["breaks", "ends"];
test.each(breaks)("over server-sent events, a stream that %s fails its calls at once", async (how) => {
  const streams: ServerResponse[] = [];
  const capability = await serveV1Sse(streams);
  const proxy = await proxied(portOf(capability));
  const tools = await McpClient.connect(at(proxy.port, capability));
  onTestFinished(() => tools.close());
  let sessions = 0;
  tools.on("session", () => sessions++);
  const onProgress = (): void => {
    if (how === "ends") streams[0]!.end();
    else proxy.cut();
  };
  const call = tools.callTool("slow", { ticks: 10_000 }, { onProgress });
  await assert.rejects(call, { code: "connection-lost" });
  // The next call opens another.
  assert.deepEqual((await tools.callTool("add", { a: 2, b: 3 })).content, [{ type: "text", text: "5" }]);
  assert.equal(sessions, 1);
});

test("over HTTP, a broken stream that the server cannot resume fails its call at once", async () => {
  const capability = await serveV1Http();
  const proxy = await proxied(portOf(capability));
  // The server compares the port too.
  const options = { authority: new URL(capability.url).host };
  const tools = await McpClient.connect(at(proxy.port, capability), options);
  onTestFinished(() => tools.close());
  const call = tools.callTool("slow", { ticks: 10_000 }, { onProgress: () => proxy.cut() });
  await assert.rejects(call, { code: "connection-lost", message: /its stream ended without a reply/ });
  assert.deepEqual((await tools.callTool("add", { a: 2, b: 3 })).content, [{ type: "text", text: "5" }]);
});

test("over server-sent events, closing leaves no connection", async () => {
  const capability = await serveV1Sse();
  const proxy = await proxied(portOf(capability));
  const tools = await McpClient.connect(at(proxy.port, capability));
  await tools.callTool("add", { a: 2, b: 3 });
  await tools.close();
  await until(() => proxy.open === 0);
});

test("a single server takes one client at a time, and the next one once nobody is there", async () => {
  const service = await started(v1Server());
  const first = await McpClient.connect(service.capability);
  await first.callTool("add", { a: 1, b: 1 });
  await assert.rejects(McpClient.connect(service.capability), {
    message: /takes one client at a time: pass mcpServer a function that makes a server for each session/,
  });
  await first.close();
  const second = await McpClient.connect(service.capability);
  onTestFinished(() => second.close());
  assert.deepEqual((await second.callTool("add", { a: 2, b: 3 })).content, [{ type: "text", text: "5" }]);
});

test("a server that redirects to the same host is followed, through a forwarder", async () => {
  const capability = await serveV1Http();
  const client = await tunnelled({ ...capability, url: capability.url.replace("/mcp", "/mcp/?moved") });
  const tools = await client.open(mcp);
  assert.deepEqual((await tools.callTool("add", { a: 2, b: 3 })).content, [{ type: "text", text: "5" }]);
});
