// What goes wrong in the large: many calls, big results, long silence, a server that dies.
import { connect } from "@envport/client";
import { Environment, serve } from "@envport/server";
import type { Capability } from "@envport/wire";
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { describe, onTestFinished, test, vi } from "vitest";
import { at, portOf, proxied, silent, started, tunnelled, until } from "./_testing.ts";
import { everything } from "./_testing_everything.ts";
import { mcp } from "./mcp.ts";
import { McpClient } from "./mcp_client.ts";
import { mcpServer } from "./mcp_server.ts";

const transports = ["streamable-http", "websocket"] as const;
const HOUR = 3_600_000;

describe.each(transports)("over %s", (transport) => {
  test(
    "1,000 calls at once through a tunnel are each answered with their own result",
    { timeout: 60_000 },
    async () => {
      const service = mcpServer(() => everything(), { transport, logger: silent });
      const client = await tunnelled(service);
      const tools = await client.open(mcp);
      const warnings: Error[] = [];
      const warn = (warning: Error): number => warnings.push(warning);
      process.on("warning", warn);
      onTestFinished(() => void process.off("warning", warn));
      const calls = Array.from({ length: 1_000 }, (_, i) => tools.callTool("add", { a: i, b: 1 }));
      const sums = (await Promise.all(calls)).map(
        ({ structuredContent }) => (structuredContent as { sum: number }).sum,
      );
      assert.deepEqual(
        sums,
        Array.from({ length: 1_000 }, (_, i) => i + 1),
      );
      assert.deepEqual(warnings, []);
      assert.equal(service.sessions, 1);
    },
  );

  test.each(["text", "image"])(
    "a result of 50 MB (%s) comes through a tunnel",
    { timeout: 60_000 },
    async (kind) => {
      const client = await tunnelled(mcpServer(() => everything(), { transport, logger: silent }));
      const tools = await client.open(mcp);
      const { content } = await tools.callTool("big", { mb: 50, kind });
      const [item] = content as unknown as [{ text?: string; data?: string }];
      assert.equal((item.text ?? item.data)!.length, 50 * 1024 * 1024);
      assert.deepEqual((await tools.callTool("add", { a: 1, b: 1 })).structuredContent, { sum: 2 });
    },
  );

  test(
    "a session that nobody uses for four hours is there when it is used again",
    { timeout: 60_000 },
    async () => {
      fakeTimers();
      const service = await started(undefined, { transport });
      const tools = await McpClient.connect(service.capability);
      onTestFinished(() => tools.close());
      let reopened = 0;
      tools.on("session", () => reopened++);
      await tools.callTool("add", { a: 1, b: 1 });
      await pass(4 * HOUR);
      assert.equal(service.sessions, 1);
      assert.deepEqual((await tools.callTool("add", { a: 2, b: 3 })).structuredContent, { sum: 5 });
      assert.equal(reopened, 0);
    },
  );

  test(
    "a server that is killed in the middle of calls fails them all, and the next one is used",
    { timeout: 60_000 },
    async () => {
      const first = await inProcess(transport);
      const proxy = await proxied(portOf(first.capability));
      const client = await tunnelled(at(proxy.port, first.capability));
      const tools = await client.open(mcp);
      let running = 0;
      const calls = Array.from({ length: 20 }, () => {
        let told = false;
        const onProgress = (): void => {
          if (!told) running++;
          told = true;
        };
        return tools.callTool("slow", { ticks: 10_000, every: 20 }, { onProgress });
      });
      const outcomes = Promise.allSettled(calls);
      await until(() => running === 20);
      first.child.kill("SIGKILL");
      for (const outcome of await outcomes) {
        assert.equal(outcome.status, "rejected");
        assert.equal((outcome.reason as { code: string }).code, "connection-lost");
      }
      const second = await inProcess(transport);
      proxy.target = portOf(second.capability);
      assert.deepEqual((await tools.callTool("add", { a: 2, b: 3 })).structuredContent, { sum: 5 });
    },
  );

  test("the network between agent and environment breaks in the middle of a call", async () => {
    const env = new Environment({ name: "tools" });
    env.use(mcpServer(() => everything(), { transport, logger: silent }));
    env.template("task").run(async function* () {
      yield "Call tools.";
      yield 1;
    });
    const server = await serve(env, { logger: silent });
    onTestFinished(() => server.close());
    const proxy = await proxied(server.port);
    const client = await connect(`tcp://127.0.0.1:${String(proxy.port)}`, { logger: silent });
    onTestFinished(() => client.close());
    await client.start("task");
    const tools = await client.open(mcp);
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }): void => void seen.push(progress);
    const call = tools.callTool("slow", { ticks: 50, every: 20 }, { onProgress });
    const outcome = call.then(
      ({ content }) => content,
      (error: unknown) => (error as { code: string }).code,
    );
    await until(() => seen.length >= 5);
    proxy.cut();
    await client.resume();
    // What can be resumed goes on where it was; what cannot fails, and is not done twice.
    const expected = transport === "websocket" ? "connection-lost" : [{ type: "text", text: "ticks 50" }];
    assert.deepEqual(await outcome, expected);
    if (transport !== "websocket") assert.equal(seen.length, 50);
    assert.deepEqual((await tools.callTool("add", { a: 2, b: 3 })).structuredContent, { sum: 5 });
  });

  test(
    "a tool that ends the server's process is a lost connection, and its caller does not wait",
    { timeout: 60_000 },
    async () => {
      const { capability } = await inProcess(transport);
      const client = await tunnelled(capability);
      const tools = await client.open(mcp);
      await assert.rejects(tools.callTool("die"), { code: "connection-lost" });
      await assert.rejects(tools.callTool("add", { a: 1, b: 1 }), { code: "connection-lost" });
    },
  );

  test("closing an environment's client ends its MCP sessions, and no connection stays", async () => {
    const service = mcpServer(() => everything(), { transport, logger: silent });
    const client = await tunnelled(service);
    const tools = await client.open(mcp);
    await tools.callTool("add", { a: 1, b: 1 });
    await client.close();
    await until(() => service.sessions === 0);
  });
});

test("a session over HTTP that its client has abandoned ends after its time", async () => {
  fakeTimers();
  const service = await started(undefined, { sessionTtl: HOUR });
  const proxy = await proxied(portOf(service.capability));
  const tools = await McpClient.connect(at(proxy.port, service.capability));
  onTestFinished(() => tools.close());
  await tools.callTool("add", { a: 1, b: 1 });
  proxy.refusing = true;
  proxy.cut();
  await pass(HOUR - 60_000);
  assert.equal(service.sessions, 1);
  await pass(2 * 60_000);
  assert.equal(service.sessions, 0);
  proxy.refusing = false;
  assert.deepEqual((await tools.callTool("add", { a: 2, b: 3 })).structuredContent, { sum: 5 });
});

test("a WebSocket whose other side has silently gone is given up by both", async () => {
  fakeTimers();
  const service = await started(undefined, { transport: "websocket" });
  const proxy = await proxied(portOf(service.capability));
  const tools = await McpClient.connect(at(proxy.port, service.capability));
  onTestFinished(() => tools.close());
  assert.equal(service.sessions, 1);
  proxy.cut({ halfOpen: true });
  await pass(60_000);
  assert.equal(service.sessions, 0);
});

function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets time pass in steps, and what is sent in each arrive before the next. */
async function pass(ms: number): Promise<void> {
  const step = 15_000;
  for (let passed = 0; passed < ms; passed += step) {
    await vi.advanceTimersByTimeAsync(step);
    // These are real: pings have to be answered.
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    await sleep(1);
  }
}

async function inProcess(transport: string): Promise<{ capability: Capability; child: ChildProcess }> {
  const script = join(import.meta.dirname, "testdata/service.ts");
  const args = ["--import", "tsx", "--conditions=@envport/source", script, transport];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { capability: JSON.parse(line) as Capability, child };
}
