import assert from "node:assert/strict";
import { test } from "vitest";
import { mcpCapability } from "./mcp_capability.ts";

test("mcpCapability() makes the port explicit, by the scheme", () => {
  const url = (text: string): string => mcpCapability({ url: text }).url;
  assert.equal(url("http://host/mcp"), "http://host:80/mcp");
  assert.equal(url("https://host/mcp?a=b"), "https://host:443/mcp?a=b");
  assert.equal(url("ws://host"), "ws://host:80");
  assert.equal(url("wss://[::1]/mcp"), "wss://[::1]:443/mcp");
  assert.equal(url("HTTP://127.0.0.1:8040/mcp"), "http://127.0.0.1:8040/mcp");
});

test("mcpCapability() is the binding that the peer's clients look for", () => {
  assert.deepEqual(mcpCapability({ url: "http://127.0.0.1:8040/mcp", authToken: "t" }), {
    name: "tools",
    protocol: "mcp/2025-11-25",
    url: "http://127.0.0.1:8040/mcp",
    params: { transport: "streamable-http", auth_token: "t" },
  });
});

test("mcpCapability() guesses the transport from the scheme, and takes one that goes with it", () => {
  const transport = (options: Parameters<typeof mcpCapability>[0]): unknown =>
    mcpCapability(options).params["transport"];
  assert.equal(transport({ url: "https://host/mcp" }), "streamable-http");
  assert.equal(transport({ url: "wss://host/mcp" }), "websocket");
  assert.equal(transport({ url: "http://host/sse", transport: "sse" }), "sse");
});

test("mcpCapability() refuses what cannot be reached through a port, and says what to do", () => {
  for (const url of [
    "stdio",
    "stdio:python server.py",
    "python server.py",
    "tcp://host:1",
    "host:8040",
    "",
  ]) {
    assert.throws(() => mcpCapability({ url }), {
      name: "TypeError",
      message: `Cannot describe MCP server as its url must begin with http://, https://, ws:// or wss:// (a server on standard input and output has to be given to mcpServer): current value is ${JSON.stringify(url)}`,
    });
  }
});

test("mcpCapability() refuses a transport that does not go with the scheme", () => {
  assert.throws(() => mcpCapability({ url: "http://h/mcp", transport: "websocket" }), {
    name: "TypeError",
    message:
      "Cannot describe MCP server as transport 'websocket' must go with a ws or wss url: current value is 'http'",
  });
  assert.throws(() => mcpCapability({ url: "ws://h/mcp", transport: "sse" }), /http or https/);
});
