import { EnvportError, ProtocolError } from "@envport/wire";
import assert from "node:assert/strict";
import { describe, onTestFinished, test } from "vitest";
import { started, tunnelled } from "./_testing.ts";
import { PNG, everything } from "./_testing_everything.ts";
import { mcp } from "./mcp.ts";
import { McpClient } from "./mcp_client.ts";
import { mcpServer } from "./mcp_server.ts";
import type { McpConnectOptions } from "./mcp_client_options.ts";

const transports = ["streamable-http", "websocket"] as const;

describe.each(transports)("over %s, through a forwarder, with a token", (transport) => {
  async function opened(options: McpConnectOptions = {}): Promise<McpClient> {
    const service = mcpServer(() => everything(), { transport, authToken: "secret-token" });
    const client = await tunnelled(service);
    const tools = await McpClient.connect(client.binding("mcp"), options);
    onTestFinished(() => tools.close());
    return tools;
  }

  test("tools are listed and called, with structured content", async () => {
    const tools = await opened();
    const names = (await tools.listTools()).map(({ name }) => name);
    assert.ok(names.includes("add"), String(names));
    const result = await tools.callTool("add", { a: 2, b: 3 });
    assert.deepEqual(result.content, [{ type: "text", text: "5" }]);
    assert.deepEqual(result.structuredContent, { sum: 5 });
    assert.deepEqual(tools.server, { name: "everything", version: "1.0.0" });
    assert.equal(tools.instructions, "Try everything.");
    assert.equal(tools.client.getNegotiatedProtocolVersion(), "2025-11-25");
  });

  test("media and embedded resources come as they are", async () => {
    const tools = await opened();
    const { content } = await tools.callTool("test_multiple_content_types");
    assert.deepEqual(
      content.map(({ type }) => type),
      ["text", "image", "resource"],
    );
    assert.equal((content[1] as { data: string }).data, PNG);
    assert.equal((await tools.callTool("test_audio_content")).content[0]!.type, "audio");
  });

  test("a tool that fails is a result, a tool that is not there is an error", async () => {
    const tools = await opened();
    const failed = await tools.callTool("test_error_handling");
    assert.equal(failed.isError, true);
    assert.equal((await tools.callTool("add", { a: "two" })).isError, true);
    await assert.rejects(tools.callTool("nothing"), (error) => {
      assert.ok(error instanceof ProtocolError);
      assert.equal(error.code, -32602);
      return true;
    });
  });

  test("progress arrives, all of it and before the result", async () => {
    const tools = await opened();
    const seen: number[] = [];
    await tools.callTool(
      "slow",
      { ticks: 20, every: 1 },
      { onProgress: ({ progress }) => seen.push(progress) },
    );
    assert.deepEqual(
      seen,
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
  });

  test("resources and prompts are listed and read", async () => {
    const tools = await opened();
    const uris = (await tools.listResources()).map(({ uri }) => uri);
    assert.ok(uris.includes("test://static-text"), String(uris));
    assert.equal((await tools.listResourceTemplates())[0]!.uriTemplate, "test://template/{id}/data");
    const [binary] = await tools.readResource("test://static-binary");
    assert.equal((binary as { blob: string }).blob, PNG);
    assert.ok((await tools.listPrompts()).some(({ name }) => name === "test_simple_prompt"));
    const prompt = await tools.getPrompt("test_prompt_with_arguments", { arg1: "x", arg2: "y" });
    assert.match(JSON.stringify(prompt.messages), /arg1='x', arg2='y'/);
    await tools.ping();
  });

  test("the server asks, and the handlers of setup() answer", async () => {
    const tools = await opened({
      capabilities: { elicitation: { form: {} }, sampling: {} },
      setup: (client) => {
        client.setRequestHandler("elicitation/create", () => ({
          action: "accept",
          content: { username: "u", email: "e" },
        }));
        client.setRequestHandler("sampling/createMessage", () => ({
          role: "assistant",
          model: "m",
          content: { type: "text", text: "sampled" },
        }));
      },
    });
    const asked = await tools.callTool("test_elicitation", { message: "who?" });
    assert.match(JSON.stringify(asked.content), /action=accept/);
    const sampled = await tools.callTool("test_sampling", { prompt: "say" });
    assert.match(JSON.stringify(sampled.content), /LLM response: sampled/);
  });

  test("a changed list is told", async () => {
    const tools = await opened();
    const told = new Promise((resolve) => tools.once("notification", resolve));
    await tools.callTool("grow");
    assert.deepEqual(await told, { method: "notifications/tools/list_changed" });
    assert.ok((await tools.listTools()).some(({ name }) => name === "grown"));
  });

  test("a signal cancels the tool in the server, and the call rejects with its reason", async () => {
    const stats = { started: 0, cancelled: 0 };
    const client = await tunnelled(mcpServer(() => everything(stats), { transport }));
    const tools = await client.open(mcp);
    const reason = new Error("enough");
    const controller = new AbortController();
    const call = tools.callTool(
      "slow",
      { ticks: 1000, every: 50 },
      { signal: controller.signal, onProgress: () => controller.abort(reason) },
    );
    await assert.rejects(call, reason);
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        if (stats.cancelled === 0) return;
        clearInterval(timer);
        resolve();
      }, 5);
    });
    assert.deepEqual((await tools.callTool("echo", { s: "still here" })).content, [
      { type: "text", text: "still here" },
    ]);
  });

  test("a call that says nothing runs out of time, one that reports does not", async () => {
    const tools = await opened();
    await assert.rejects(tools.callTool("slow", { ticks: 1, every: 10_000 }, { timeout: 100 }), {
      name: "EnvportError",
      code: "timeout",
    });
    const { content } = await tools.callTool("slow", { ticks: 25, every: 100 }, { timeout: 1_500 });
    assert.deepEqual(content, [{ type: "text", text: "ticks 25" }]);
    const total = { timeout: 10_000, maxTotalTimeout: 150 };
    await assert.rejects(tools.callTool("slow", { ticks: 1000, every: 20 }, total), { code: "timeout" });
  });

  test("a wrong token is an authentication failure", async () => {
    const service = await started(undefined, { transport, authToken: "right" });
    const capability = { ...service.capability, params: { transport, auth_token: "wrong" } };
    await assert.rejects(McpClient.connect(capability), {
      name: "EnvportError",
      code: "authentication-failed",
    });
  });

  test("close() ends the session in the server, is idempotent, and fails what comes after", async () => {
    const service = await started(undefined, { transport });
    const tools = await McpClient.connect(service.capability);
    assert.equal(service.sessions, 1);
    const pending = assert.rejects(tools.callTool("slow", { ticks: 1000, every: 50 }), { code: "closed" });
    await Promise.all([tools.close(), tools.close()]);
    await pending;
    while (service.sessions > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await assert.rejects(tools.listTools(), { code: "closed" });
  });
});

test("McpClient.connect() refuses a binding that is none of its family, or that it cannot read", async () => {
  const binding = { name: "tools", protocol: "mcp/2025-11-25", url: "http://127.0.0.1:9/mcp", params: {} };
  for (const wrong of [
    { ...binding, protocol: "ssh/2" },
    { ...binding, url: "tcp://127.0.0.1:9" },
    { ...binding, params: { transport: "stdio" } },
    { ...binding, params: { transport: "websocket" } },
    { ...binding, params: { auth_token: 7 } },
  ]) {
    await assert.rejects(McpClient.connect(wrong), { name: "EnvportError", code: "invalid-value" });
  }
});

test("McpClient.connect() says that nothing answers, so that open() tries again", async () => {
  const binding = { name: "tools", protocol: "mcp/2025-11-25", url: "http://127.0.0.1:1/mcp", params: {} };
  for (const url of ["http://127.0.0.1:1/mcp", "ws://127.0.0.1:1/mcp", "http://127.0.0.1:1/sse"]) {
    await assert.rejects(McpClient.connect({ ...binding, url }), (error) => {
      assert.ok(error instanceof EnvportError, String(error));
      assert.equal(error.code, "connection-lost");
      assert.match(error.message, /^Cannot connect to MCP server 'tools' as the connection is lost/);
      return true;
    });
  }
});

test("McpClient.connect() says that no MCP server is there", async () => {
  const service = await started();
  for (const [scheme, code] of [
    ["http", "unsupported"],
    ["ws", "unsupported"],
  ]) {
    const url = service.capability.url.replace("http", scheme!).replace("/mcp", "/other");
    await assert.rejects(McpClient.connect({ ...service.capability, url, params: {} }), { code });
  }
});

test("a server without resources and prompts has none, and standard output stays silent", async () => {
  const { McpServer } = await import("@modelcontextprotocol/server");
  const service = await started(() => new McpServer({ name: "bare", version: "1" }));
  const tools = await McpClient.connect(service.capability);
  onTestFinished(() => tools.close());
  const lists = [
    tools.listTools(),
    tools.listResources(),
    tools.listResourceTemplates(),
    tools.listPrompts(),
  ];
  assert.deepEqual(await Promise.all(lists), [[], [], [], []]);
});
