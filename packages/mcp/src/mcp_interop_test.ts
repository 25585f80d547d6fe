// The Python peer, unpatched: its client through its own forwarders to our service, and our client to a server that a
// Python environment publishes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { connect } from "@envport/client";
import { Environment, serve } from "@envport/server";
import { onTestFinished, test } from "vitest";
import { silent } from "./_testing.ts";
import { everything } from "./_testing_everything.ts";
import { v1Server } from "./_testing_v1.ts";
import { mcp } from "./mcp.ts";
import { McpClient } from "./mcp_client.ts";
import { mcpServer } from "./mcp_server.ts";

const TIMEOUT = { timeout: 60_000 };
const testdata = join(import.meta.dirname, "testdata");

/** The interpreter that has the peer. */
function python(): string {
  const interpreter = process.env["ENVPORT_PEER_PYTHON"];
  if (!interpreter) {
    throw new Error(
      "Cannot test against the peer as ENVPORT_PEER_PYTHON must name a Python that has hud 0.6.21 and fastmcp: run npm run test:interop",
    );
  }
  return interpreter;
}

/** What the peer's client found, as its script prints it. */
interface Report {
  bindings: { name: string; url: string; params: Record<string, unknown> }[];
  tools: string[];
  sum: { content: [{ text: string }]; structuredContent: unknown; isError: boolean };
  failed: { isError: boolean; content: [{ text: string }] };
  image: { type: string; length: number };
  echoed: string;
  parallel: number[];
  error: string;
}

async function peerClient(url: string): Promise<Report> {
  const child = spawn(python(), [join(testdata, "peer_client.py"), url], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit") as Promise<[number]>,
  ]);
  assert.equal(code, 0, stderr.slice(-3_000));
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as Report;
}

/** The port that the peer's server says it is bound to. */
async function announced(stdout: Readable): Promise<string> {
  for await (const line of createInterface(stdout)) {
    const [, port] = /^HUD_SERVE_PORT=(\d+)$/.exec(line) ?? [];
    if (port !== undefined) return port;
  }
  throw new Error("The peer's environment ended before it was served");
}

async function served(
  ...args: Parameters<typeof mcpServer>
): Promise<{ url: string; sessions: () => number }> {
  const env = new Environment({ name: "tools" });
  const service = env.use(mcpServer(args[0], { logger: silent, ...args[1] }));
  const server = await serve(env, { logger: silent });
  onTestFinished(() => server.close());
  return { url: server.url, sessions: () => service.sessions };
}

test("the peer's client drives our service through its own forwarders", TIMEOUT, async () => {
  const { url, sessions } = await served(() => everything(), { authToken: "secret" });
  const report = await peerClient(url);
  const [{ name, params }] = report.bindings as [Report["bindings"][0]];
  assert.deepEqual([name, params], ["tools", { transport: "streamable-http", auth_token: "secret" }]);
  assert.ok(report.tools.includes("add"), String(report.tools));
  assert.equal(report.sum.content[0].text, "5");
  assert.deepEqual(report.sum.structuredContent, { sum: 5 });
  assert.equal(report.sum.isError, false);
  assert.equal(report.failed.isError, true);
  assert.deepEqual(report.image, { type: "image", length: 5 * 1024 * 1024 });
  assert.equal(report.echoed, "grüße 🌍");
  assert.deepEqual(
    report.parallel,
    Array.from({ length: 50 }, (_, i) => i + 1),
  );
  assert.match(report.error, /nothing/);
  assert.equal(sessions(), 0);
});

test(
  "the peer's client lists and calls the tools of a server of the library's first generation",
  TIMEOUT,
  async () => {
    const { url } = await served(v1Server);
    const report = await peerClient(url);
    assert.deepEqual(report.tools, ["add", "slow", "whoami", "fail"]);
    assert.equal(report.sum.content[0].text, "5");
  },
);

test.each(["http", "sse"])(
  "our client drives what a Python environment publishes over %s",
  TIMEOUT,
  async (transport) => {
    const child = spawn(python(), [join(testdata, "peer_environment.py"), transport], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let log = "";
    child.stderr.on("data", (chunk) => (log += String(chunk)));
    onTestFinished(() => void child.kill("SIGKILL"));
    const gone = once(child, "exit").then(() => Promise.reject(new Error(log.slice(-3_000))));
    gone.catch(() => undefined);
    const client = await connect(`tcp://127.0.0.1:${await Promise.race([announced(child.stdout), gone])}`, {
      logger: silent,
    });
    onTestFinished(() => client.close());
    const tools = await client.open(mcp);
    assert.equal(tools.server?.name, "calculator");
    assert.deepEqual(
      (await tools.listTools()).map(({ name }) => name),
      ["add", "count", "fail", "big"],
    );
    const { content, structuredContent } = await tools.callTool("add", { a: 2, b: 3 });
    assert.deepEqual([content, structuredContent], [[{ type: "text", text: "5" }], { result: 5 }]);
    const seen: number[] = [];
    await tools.callTool("count", { to: 10 }, { onProgress: ({ progress }) => seen.push(progress) });
    assert.ok(seen.length >= 9, String(seen));
    assert.equal((await tools.callTool("fail")).isError, true);
    const big = await tools.callTool("big", { mb: 20 });
    assert.equal((big.content[0] as { text: string }).text.length, 20 * 1024 * 1024);
    const calls = Array.from({ length: 50 }, (_, i) => tools.callTool("add", { a: i, b: 1 }));
    for (const [i, result] of (await Promise.all(calls)).entries()) {
      assert.deepEqual(result.structuredContent, { result: i + 1 });
    }
    const [resource] = await tools.readResource("test://greeting");
    assert.equal((resource as { text: string }).text, "hello");
    const controller = new AbortController();
    const reason = new Error("enough");
    const options = { signal: controller.signal, onProgress: () => controller.abort(reason) };
    await assert.rejects(tools.callTool("count", { to: 100_000 }, options), reason);
    const wrong = {
      ...client.binding("mcp"),
      params: { ...client.binding("mcp").params, auth_token: "wrong" },
    };
    await assert.rejects(McpClient.connect(wrong), { code: "authentication-failed" });
  },
);
