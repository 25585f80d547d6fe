import { connect } from "@envport/client";
import type { Capability } from "@envport/wire";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { McpClient } from "../src/mcp_client.ts";
import { median, runBench } from "../../../scripts/bench_rows.ts";
import type { Row } from "../../../scripts/bench_rows.ts";

/** The same client by the two ways to the same server. */
interface Ways {
  readonly tunnel: McpClient;
  readonly direct: McpClient;
}

const REFERENCE = "the same client straight to the server";

/**
 * Calls of a tool through forwarder and tunnel, beside calls of the same client straight to the server. Environment and
 * tools run in a process of their own. Many short rounds measure one and then the other, so that what else the machine does meets both; the median of the rounds' ratios counts.
 *
 * @param options With `quick`, less of everything.
 */
export async function run({ quick }: { quick: boolean }): Promise<Row[]> {
  const rounds = quick ? 30 : 80;
  await using served = await serveInChild();
  await using client = await connect(served.url);
  const rows: Row[] = [];
  for (const capability of served.capabilities) {
    const { name } = capability;
    const tunnel = await McpClient.connect(client.binding(name));
    const direct = await McpClient.connect(capability);
    const measure = async (
      metric: string,
      unit: string,
      target: number,
      work: (tools: McpClient) => Promise<number>,
    ): Promise<void> => {
      const some = unit === "1/s" ? rounds : Math.ceil(rounds / 5);
      const figures = await compare({ tunnel, direct }, some, work);
      const ok = figures.ratio >= target;
      rows.push({ metric: `${metric}, ${name}`, unit, reference: REFERENCE, target, ok, ...figures });
    };
    // A call over WebSocket takes so little that the tunnel's additional hops are a fifth of it.
    const calls = name === "websocket" ? 0.7 : 0.8;
    await measure("calls one after another", "1/s", calls, (tools) => sequential(tools, 20));
    await measure("calls, 32 at a time", "1/s", calls, (tools) => parallel(tools, 32, 64));
    await measure("result of 10 MiB", "MB/s", 0.6, (tools) => big(tools, 10));
    await tunnel.close();
    await direct.close();
  }
  return rows;
}

async function compare(
  ways: Ways,
  rounds: number,
  work: (tools: McpClient) => Promise<number>,
): Promise<{ ours: number; theirs: number; ratio: number }> {
  const figures: { ours: number; theirs: number }[] = [];
  await work(ways.tunnel);
  await work(ways.direct);
  for (let round = 0; round < rounds; round++) {
    // Who goes first changes, so that neither gains by it.
    const first = round % 2 === 0 ? await work(ways.tunnel) : undefined;
    const theirs = await work(ways.direct);
    figures.push({ ours: first ?? (await work(ways.tunnel)), theirs });
  }
  return {
    ours: median(figures.map(({ ours }) => ours)),
    theirs: median(figures.map(({ theirs }) => theirs)),
    ratio: median(figures.map(({ ours, theirs }) => ours / theirs)),
  };
}

async function sequential(tools: McpClient, count: number): Promise<number> {
  const time = await seconds(async () => {
    for (let i = 0; i < count; i++) await add(tools, i);
  });
  return count / time;
}

async function parallel(tools: McpClient, width: number, count: number): Promise<number> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await add(tools, next++);
  };
  const time = await seconds(() => Promise.all(Array.from({ length: width }, worker)));
  return count / time;
}

async function add(tools: McpClient, a: number): Promise<void> {
  const { structuredContent } = await tools.callTool("add", { a, b: 1 });
  if ((structuredContent as { sum?: number } | undefined)?.sum !== a + 1)
    throw new Error("A call was answered wrongly");
}

async function big(tools: McpClient, mb: number): Promise<number> {
  return mb / (await seconds(() => tools.callTool("big", { mb, kind: "image" })));
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}

async function serveInChild(): Promise<{ url: string; capabilities: Capability[] } & AsyncDisposable> {
  const script = join(import.meta.dirname, "../src/testdata/environment.ts");
  const child = spawn(process.execPath, ["--import", "tsx", "--conditions=@envport/source", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const served = JSON.parse(line) as { url: string; capabilities: Capability[] };
  return {
    ...served,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await once(child, "exit");
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runBench("mcp", run);
