import assert from "node:assert/strict";
import { test } from "vitest";
import { mcpTarget } from "./_mcp_target.ts";

const binding = (url: string, params = {}): Parameters<typeof mcpTarget>[0] => ({
  name: "tools",
  protocol: "mcp/2025-11-25",
  url,
  params,
});

test("a manifest that names no transport is guessed at by scheme and path", () => {
  const transport = (url: string, params?: object): string =>
    mcpTarget(binding(url, params), undefined).transport;
  assert.equal(transport("http://h:1/mcp"), "streamable-http");
  assert.equal(transport("https://h/"), "streamable-http");
  assert.equal(transport("ws://h/mcp"), "websocket");
  assert.equal(transport("wss://h/sse"), "websocket");
  assert.equal(transport("http://h/sse"), "sse");
  assert.equal(transport("http://h/a/sse/?x"), "sse");
  assert.equal(transport("http://h/ssed"), "streamable-http");
  assert.equal(transport("http://h/?path=/sse"), "streamable-http");
  assert.equal(transport("http://h/sse", { transport: "streamable-http" }), "streamable-http");
  assert.equal(transport("http://h/mcp", { transport: null }), "streamable-http");
});

test("the authority stands in the URL, the forwarder is what is dialled", () => {
  const target = mcpTarget(binding("https://127.0.0.1:40001/mcp?a=b"), "tools.example:443");
  assert.equal(target.url.href, "https://tools.example/mcp?a=b");
  assert.deepEqual(target.dial, { host: "127.0.0.1", port: 40_001 });
});

test("without an authority, or with one that is no name, the URL is as it is", () => {
  for (const authority of [undefined, "0.0.0.0:8040", "[::]:8040"]) {
    const target = mcpTarget(binding("http://127.0.0.1:40001/mcp"), authority);
    assert.equal(target.url.href, "http://127.0.0.1:40001/mcp");
  }
});

test("ports that are not written are those of the scheme, and IPv6 hosts lose their brackets", () => {
  assert.deepEqual(mcpTarget(binding("http://h/mcp"), undefined).dial, { host: "h", port: 80 });
  assert.deepEqual(mcpTarget(binding("wss://[::1]/mcp"), undefined).dial, { host: "::1", port: 443 });
});

test("a user name is not passed on", () => {
  const { url } = mcpTarget(binding("http://agent:secret@h:1/mcp#x"), undefined);
  assert.equal(url.href, "http://h:1/mcp");
});
