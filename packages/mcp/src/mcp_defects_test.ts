// Where the library underneath would lose a call, hang until its time-out or leak, one test for each.
import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Capability } from "@envport/wire";
import { onTestFinished, test, vi } from "vitest";
import { at, portOf, proxied, started, until } from "./_testing.ts";
import { everything } from "./_testing_everything.ts";
import { McpClient } from "./mcp_client.ts";
import { mcpCapability } from "./mcp_capability.ts";

async function connected(capability: Capability): Promise<McpClient> {
  const tools = await McpClient.connect(capability);
  onTestFinished(() => tools.close());
  return tools;
}

/** Ends a session behind the back of the client that has it. */
async function endSession(capability: Capability, sessionId: string): Promise<void> {
  const response = await fetch(capability.url, {
    method: "DELETE",
    headers: { "mcp-session-id": sessionId },
  });
  assert.equal(response.status, 200);
}

function sessionOf(tools: McpClient): string {
  return tools.client.transport!.sessionId!;
}

test("a session that the server has forgotten is opened anew, once for all who notice", async () => {
  const { capability } = await started();
  const tools = await connected(capability);
  let reopened = 0;
  tools.on("session", () => reopened++);
  await endSession(capability, sessionOf(tools));
  const calls = Array.from({ length: 20 }, (_, i) => tools.callTool("add", { a: i, b: 1 }));
  const sums = (await Promise.all(calls)).map(
    ({ structuredContent }) => (structuredContent as { sum: number }).sum,
  );
  assert.deepEqual(
    sums,
    Array.from({ length: 20 }, (_, i) => i + 1),
  );
  assert.equal(reopened, 1);
});

test("a call that the old session still answers is not lost when the session is opened anew", async () => {
  // A server that forgets a session as soon as it has one call of it under way.
  const service = await started();
  let forgotten = "";
  const front = await fronted(service.capability, (request, response) => {
    if (request.headers["mcp-session-id"] !== forgotten) return false;
    if (request.method === "DELETE") return false;
    response.writeHead(404).end();
    return true;
  });
  const tools = await connected(front);
  const old = sessionOf(tools);
  const seen: number[] = [];
  const slow = tools.callTool(
    "slow",
    { ticks: 20, every: 20 },
    { onProgress: ({ progress }) => seen.push(progress) },
  );
  await until(() => seen.length > 0);
  forgotten = old;
  assert.deepEqual((await tools.callTool("add", { a: 1, b: 1 })).structuredContent, { sum: 2 });
  assert.notEqual(sessionOf(tools), old);
  assert.deepEqual((await slow).content, [{ type: "text", text: "ticks 20" }]);
  assert.equal(seen.length, 20);
});

test("servers that say 400 about a session they do not know are understood", async () => {
  const service = await started();
  let forgotten = "";
  const front = await fronted(service.capability, (request, response) => {
    if (request.headers["mcp-session-id"] !== forgotten) return false;
    response.writeHead(400).end('{"error":{"message":"Bad Request: No valid session ID provided"}}');
    return true;
  });
  const tools = await connected(front);
  forgotten = sessionOf(tools);
  assert.deepEqual((await tools.callTool("add", { a: 1, b: 1 })).structuredContent, { sum: 2 });
});

test("a session that cannot be had again is an error, not a loop", async () => {
  const service = await started();
  let forget = false;
  const front = await fronted(service.capability, (request, response) => {
    if (!forget || request.headers["mcp-session-id"] === undefined || request.method !== "POST") return false;
    response.writeHead(404).end();
    return true;
  });
  const tools = await connected(front);
  forget = true;
  await assert.rejects(tools.callTool("add", { a: 1, b: 1 }), { name: "EnvportError" });
});

test("a call goes on after its connection was cut, with all of its progress", async () => {
  const { capability } = await started();
  const proxy = await proxied(portOf(capability));
  const tools = await connected(at(proxy.port, capability));
  const seen: number[] = [];
  const call = tools.callTool(
    "slow",
    { ticks: 40, every: 20 },
    { onProgress: ({ progress }) => seen.push(progress) },
  );
  await until(() => seen.length >= 5);
  proxy.cut();
  assert.deepEqual((await call).content, [{ type: "text", text: "ticks 40" }]);
  assert.deepEqual(
    seen,
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
});

test("a call goes on although the server believes its old connection to be alive", async () => {
  const { capability } = await started();
  const proxy = await proxied(portOf(capability));
  const tools = await connected(at(proxy.port, capability));
  const seen: number[] = [];
  const call = tools.callTool(
    "slow",
    { ticks: 40, every: 20 },
    { onProgress: ({ progress }) => seen.push(progress) },
  );
  await until(() => seen.length >= 5);
  proxy.cut({ halfOpen: true });
  assert.deepEqual((await call).content, [{ type: "text", text: "ticks 40" }]);
  assert.equal(seen.length, 40);
  // The stream of notifications was taken over as well.
  const told = once(tools, "notification");
  await tools.callTool("grow");
  await told;
});

test("a call fails when its stream cannot be had again, long before its time-out, and the next one works", async () => {
  const { capability } = await started();
  const proxy = await proxied(portOf(capability));
  const tools = await connected(at(proxy.port, capability));
  const call = tools.callTool(
    "slow",
    { ticks: 10_000, every: 20 },
    {
      onProgress: ({ progress }) => {
        if (progress !== 5) return;
        proxy.refusing = true;
        proxy.cut();
      },
    },
  );
  await assert.rejects(call, { name: "EnvportError", code: "connection-lost" });
  proxy.refusing = false;
  assert.deepEqual((await tools.callTool("add", { a: 1, b: 1 })).structuredContent, { sum: 2 });
});

test("a call fails at once when the server that is there now does not know its stream", async () => {
  const first = await started();
  const second = await started();
  const proxy = await proxied(portOf(first.capability));
  const tools = await connected(at(proxy.port, first.capability));
  const call = tools.callTool(
    "slow",
    { ticks: 10_000, every: 20 },
    {
      onProgress: ({ progress }) => {
        if (progress !== 5) return;
        proxy.target = portOf(second.capability);
        proxy.cut();
      },
    },
  );
  await assert.rejects(call, (error: Error & { code?: string }) => {
    assert.equal(error.code, "connection-lost");
    assert.match(error.message, /does not know its stream any more \(HTTP 404\)/);
    return true;
  });
  assert.deepEqual((await tools.callTool("add", { a: 1, b: 1 })).structuredContent, { sum: 2 });
});

test("what the server says by itself is heard again after the library has given up listening", async () => {
  const { capability } = await started();
  const proxy = await proxied(portOf(capability));
  const tools = await connected(at(proxy.port, capability));
  await tools.callTool("add", { a: 1, b: 1 });
  proxy.refusing = true;
  proxy.cut();
  const gaveUp = new Promise<void>((resolve) => {
    tools.client.onerror = (error) => {
      if (/Maximum reconnection attempts/.test(error.message)) resolve();
    };
  });
  await gaveUp;
  proxy.refusing = false;
  let heard = 0;
  tools.on("notification", () => heard++);
  while (heard === 0) await tools.callTool("tell");
});

test("a request that gets no answer at all is never sent again", async () => {
  const stats = { started: 0, cancelled: 0 };
  const { capability } = await started(() => everything(stats));
  let swallow = false;
  const front = await fronted(capability, (request) => {
    if (!swallow || request.method !== "POST") return false;
    request.socket.resetAndDestroy();
    return true;
  });
  const tools = await connected(front);
  swallow = true;
  await assert.rejects(tools.callTool("slow", { ticks: 1, every: 1 }), { code: "connection-lost" });
  swallow = false;
  await tools.ping();
  assert.equal(stats.started, 0);
});

test("a WebSocket that breaks fails its calls at once, and the next call opens another", async () => {
  const { capability } = await started(undefined, { transport: "websocket" });
  const proxy = await proxied(portOf(capability));
  const tools = await connected(at(proxy.port, capability));
  const call = tools.callTool("slow", { ticks: 10_000, every: 20 }, { onProgress: () => proxy.cut() });
  await assert.rejects(call, { code: "connection-lost" });
  assert.deepEqual((await tools.callTool("add", { a: 1, b: 1 })).structuredContent, { sum: 2 });
});

test("progress that comes in one piece with the reply is not lost", async () => {
  for (const transport of ["streamable-http", "websocket"] as const) {
    const { capability } = await started(undefined, { transport });
    const tools = await connected(capability);
    for (let round = 0; round < 20; round++) {
      let seen = 0;
      await tools.callTool("slow", { ticks: 5, every: 0 }, { onProgress: () => seen++ });
      assert.equal(seen, 5, transport);
    }
  }
});

test("thousands of calls leave no listeners behind, and connections are used again", async () => {
  const { capability } = await started();
  const proxy = await proxied(portOf(capability));
  const tools = await connected(at(proxy.port, capability));
  const warnings: Error[] = [];
  const warn = (warning: Error): number => warnings.push(warning);
  process.on("warning", warn);
  onTestFinished(() => void process.off("warning", warn));
  const { signal } = new AbortController();
  // On Node 20, the signals that it makes stay with the longer-lived of their sources.
  const any = vi.spyOn(AbortSignal, "any");
  onTestFinished(() => any.mockRestore());
  for (let i = 0; i < 1_000; i++) await tools.callTool("add", { a: i, b: 1 }, { signal });
  assert.ok(proxy.accepted < 20, `${String(proxy.accepted)} connections`);
  await Promise.all(Array.from({ length: 30 }, () => tools.callTool("add", { a: 1, b: 1 }, { signal })));
  assert.deepEqual(warnings, []);
  assert.deepEqual(getEventListeners(signal, "abort"), []);
  assert.equal(any.mock.calls.length, 0);
});

test("a cancelled call gives its connection back", async () => {
  const { capability } = await started();
  const proxy = await proxied(portOf(capability));
  const tools = await connected(at(proxy.port, capability));
  for (let i = 0; i < 10; i++) {
    const controller = new AbortController();
    const options = { signal: controller.signal, onProgress: () => controller.abort() };
    await assert.rejects(tools.callTool("slow", { ticks: 10_000, every: 5 }, options));
  }
  // What stays are the stream of notifications and connections that wait to be used again.
  await until(() => proxy.open <= 3);
});

test("arguments of 20 MB go through", { timeout: 60_000 }, async () => {
  const { capability } = await started();
  const tools = await connected(capability);
  const { content } = await tools.callTool("echo", { s: "x".repeat(20_000_000) });
  assert.deepEqual(content, [{ type: "text", text: "20000000" }]);
});

test("a message over the limit is refused, and the session goes on", async () => {
  const { capability } = await started(undefined, { maxMessageBytes: 10_000 });
  const tools = await connected(capability);
  await assert.rejects(tools.callTool("echo", { s: "x".repeat(20_000) }), {
    code: "protocol-violation",
    message: /at most 10000 bytes/,
  });
  assert.deepEqual((await tools.callTool("add", { a: 1, b: 1 })).structuredContent, { sum: 2 });
});

test("a connection attempt ends at its time limit, whatever the server does not do", async () => {
  const mute = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(mute, "listening");
  onTestFinished(() => {
    mute.closeAllConnections();
    mute.close();
  });
  const host = `127.0.0.1:${String((mute.address() as AddressInfo).port)}`;
  mute.on("upgrade", () => undefined);
  for (const url of [`http://${host}/mcp`, `ws://${host}/mcp`]) {
    await assert.rejects(McpClient.connect(mcpCapability({ url }), { connectTimeout: 100 }), {
      code: "timeout",
    });
  }
  const sse = mcpCapability({ url: `http://${host}/sse`, transport: "sse" });
  await assert.rejects(McpClient.connect(sse, { connectTimeout: 100 }), { code: "timeout" });
  const reason = new Error("no more");
  const signal = AbortSignal.abort(reason);
  await assert.rejects(McpClient.connect(sse, { signal }), reason);
});

/** A server in front of another, that answers some requests itself. */
async function fronted(
  capability: Capability,
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean,
): Promise<Capability> {
  const { request: forward } = await import("node:http");
  const front = createServer((request, response) => {
    if (intercept(request, response)) return void request.resume();
    const { method, headers, url } = request;
    const onward = forward({ port: portOf(capability), host: "127.0.0.1", method, headers, path: url });
    onward.on("error", () => response.destroy());
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(front, "listening");
  onTestFinished(() => {
    front.closeAllConnections();
    front.close();
  });
  await sleep(0);
  return at((front.address() as AddressInfo).port, capability);
}
