import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished, test } from "vitest";
import { Counting, isError, listen, RawAgent, until } from "./_testing.ts";
import { RobotClient } from "./robot_client.ts";
import { RobotEndpoint } from "./robot_endpoint.ts";
import type { RobotSpawnOptions } from "./robot_endpoint_options.ts";
import { serveBridge } from "./serve_bridge.ts";

const SIM = fileURLToPath(new URL("testdata/counting_sim.ts", import.meta.url));
const COMMAND = [process.execPath, "--import", "tsx", "--conditions=@envport/source", SIM];

/** The sim in a process of its own. */
async function spawned(options: RobotSpawnOptions = {}) {
  const lines: string[] = [];
  const endpoint = RobotEndpoint.spawn(COMMAND, { onLine: (line) => lines.push(line), ...options });
  onTestFinished(() => endpoint.stop());
  const [capability] = await endpoint.start();
  const { path } = capability!.dial as { path: string };
  return { endpoint, lines, path, capability: { ...capability!, url: `ws+unix:${path}:/` } };
}

const parse: (text: string) => ReturnType<typeof JSON.parse> = JSON.parse;
type Reply = ReturnType<typeof parse>;

/** A control connection that speaks lines. */
async function dial(port: number) {
  const socket = connect({ host: "127.0.0.1", port });
  await once(socket, "connect");
  onTestFinished(() => void socket.destroy());
  const lines = createInterface(socket)[Symbol.asyncIterator]();
  const next = async (): Promise<Reply> => {
    const { value, done } = await lines.next();
    return done ? undefined : parse(value);
  };
  const ask = async (line: unknown): Promise<Reply> => {
    socket.write(typeof line === "string" ? line : `${JSON.stringify(line)}\n`);
    return await next();
  };
  return { socket, ask, next };
}

/** A bridge with its control channel, in this process. */
async function controlled(bridge = new Counting()) {
  const served = await serveBridge(bridge, { program: false, log: () => undefined });
  onTestFinished(() => served.close());
  return { served, bridge };
}

test("a program prints its port, is driven over a private socket, and ends with its endpoint", async () => {
  const { endpoint, lines, path, capability } = await spawned({ env: { COUNT_TO: "4" } });
  assert.equal(capability.name, "robot");
  const { token, prompt } = await endpoint.reset({ seed: 1 });
  assert.equal(prompt, "count to 4");
  const client = await RobotClient.connect(capability, { token });
  assert.equal((await client.run(() => [1, 2])).steps, 4);
  assert.deepEqual(await endpoint.result(token), { score: 1, success: true, total_reward: 4 });
  const { closed } = endpoint;
  await client.close();
  await endpoint.stop();
  assert.equal(await closed, undefined);
  assert.ok(!existsSync(dirname(path)));
  assert.deepEqual(lines, ["loading the world", "ready"]);
});

test("a program that dies is told with how it ended, also through closed", async () => {
  const { endpoint, capability } = await spawned();
  const { token } = await endpoint.reset();
  const client = await RobotClient.connect(capability, { token });
  await client.observation();
  const { closed } = endpoint;
  const pending = client.observation();
  const pid = Number(await pidListening(capability.url));
  process.kill(pid, "SIGKILL");
  await assert.rejects(pending, isError("connection-lost"));
  assert.match((await closed)!.message, /SIGKILL/);
  await endpoint.stop();
  await endpoint.start();
  await endpoint.reset();
});

/** The process that holds the listening end of a private socket. */
async function pidListening(url: string): Promise<string> {
  const path = /^ws\+unix:(.*):\/$/.exec(url)![1]!;
  const child = spawn("bash", [
    "-c",
    `grep -lsz -- 'ENVPORT_ROBOT_SOCKET=${path}' /proc/[0-9]*/environ | cut -d/ -f3 | while read pid; do tr '\\0' ' ' < /proc/$pid/cmdline | grep -q counting_sim && echo $pid; done | head -1`,
  ]);
  const [chunk] = await once(child.stdout, "data");
  return String(chunk).trim();
}

test("a program that ends before it says its port, or says nothing, fails the start", async () => {
  const failing = RobotEndpoint.spawn([process.execPath, "-e", "process.exit(3)"]);
  await assert.rejects(failing.start(), isError("service-failed", /ended first: exit code 3/));
  const missing = RobotEndpoint.spawn(["/no/such/simulator"]);
  await assert.rejects(missing.start(), isError("service-failed", /ended first: ENOENT/));
  const silent = RobotEndpoint.spawn([process.execPath, "-e", "setInterval(() => {}, 1000)"], {
    connectTimeout: 300,
  });
  await assert.rejects(silent.start(), isError("not-ready", /must print HUD_SIM_PORT=<port> within 300 ms/));
  const giving = new AbortController();
  const aborted = RobotEndpoint.spawn([process.execPath, "-e", "setInterval(() => {}, 1000)"]).start({
    signal: giving.signal,
  });
  giving.abort(new Error("enough"));
  await assert.rejects(aborted, /enough/);
});

test("a program whose parent is killed ends by itself", async () => {
  const parent = spawn(
    process.execPath,
    [
      ...COMMAND.slice(1, -1),
      "--input-type=module",
      "-e",
      `import { RobotEndpoint } from ${JSON.stringify(new URL("mod.ts", import.meta.url).href)};
       const endpoint = RobotEndpoint.spawn(${JSON.stringify(COMMAND)}, { onLine: () => {} });
       const [capability] = await endpoint.start();
       console.log(capability.dial.path);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [chunk] = await once(parent.stdout, "data");
  const path = String(chunk).trim();
  const pid = Number(await pidListening(`ws+unix:${path}:/`));
  parent.kill("SIGKILL");
  const isThere = (): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };
  assert.ok(pid > 0);
  await until(() => !isThere());
  assert.ok(!existsSync(dirname(path)));
});

test("a worker is driven in the same way", async () => {
  const bootstrap = `import { register } from "tsx/esm/api"; register(); await import(${JSON.stringify(new URL("testdata/counting_sim.ts", import.meta.url).href)});`;
  const lines: string[] = [];
  const url = new URL(
    `data:text/javascript,${encodeURIComponent(bootstrap.replace('"tsx/esm/api"', JSON.stringify(import.meta.resolve("tsx/esm/api"))))}`,
  );
  await using endpoint = RobotEndpoint.worker(url, {
    onLine: (line) => lines.push(line),
    env: { SLOTS: "2", COUNT_TO: "2" },
  });
  const [capability] = await endpoint.start();
  const { path } = capability!.dial as { path: string };
  const episodes = [await endpoint.reset(), await endpoint.reset()];
  const play = async (token: string): Promise<number> => {
    await using client = await RobotClient.connect({ ...capability!, url: `ws+unix:${path}:/` }, { token });
    return (await client.run(() => [1, 1])).steps;
  };
  assert.deepEqual(await Promise.all(episodes.map(({ token }) => play(token))), [2, 2]);
  await endpoint.stop();
  assert.ok(lines.includes("loading the world"));
});

test("an endpoint attaches to a simulator that runs elsewhere, and leaves it alone when it stops", async () => {
  const { served, bridge } = await controlled(new Counting({ end: 2 }));
  const endpoint = RobotEndpoint.attach(
    { host: "127.0.0.1", port: served.port },
    { name: "arm", connectTimeout: 5_000 },
  );
  onTestFinished(() => endpoint.stop());
  const [capability] = await endpoint.start();
  assert.deepEqual([capability!.name, capability!.url, capability!.dial], ["arm", served.url, undefined]);
  await endpoint.reset({}, { session: "s" });
  const agent = await RawAgent.claim(served.url, null);
  await endpoint.stop();
  assert.equal((await agent.closed).code, 1000);
  assert.equal(bridge.closed, 0);
  await endpoint.start();
  await endpoint.reset();
  const nowhere = RobotEndpoint.attach({ host: "127.0.0.1", port: 1 }, { connectTimeout: 150 });
  await assert.rejects(
    nowhere.start(),
    isError("not-ready", /nothing answers at 127\.0\.0\.1:1 within 150 ms/),
  );
});

test("slots belong to the control connection that claimed them: they are free when it is gone", async () => {
  const { served, bridge } = await controlled();
  const first = await dial(served.port);
  const { result } = await first.ask({ jsonrpc: "2.0", id: 1, method: "reset", params: { seed: 1 } });
  const agent = await RawAgent.claim(served.url, result.token);
  first.socket.resetAndDestroy();
  assert.equal((await agent.closed).code, 1000);
  const second = await dial(served.port);
  const again = await second.ask({ jsonrpc: "2.0", id: 1, method: "reset", params: { seed: 2 } });
  assert.equal(again.result.prompt, "count to 1000");
  assert.deepEqual(bridge.resets, [{ seed: 1 }, { seed: 2 }]);
});

test("the control channel answers everything, with the codes of JSON-RPC", async () => {
  const { served, bridge } = await controlled();
  const { ask } = await dial(served.port);
  const code = async (line: unknown): Promise<unknown> => (await ask(line)).error.code;
  assert.deepEqual((await ask({ jsonrpc: "2.0", id: "a", method: "url" })).result, { url: served.url });
  assert.deepEqual((await ask({ id: 2, method: "contract", params: null })).result, {
    contract: bridge.contract(),
  });
  const { capabilities } = (await ask({ id: 3, method: "capabilities", params: { name: "arm" } })).result;
  assert.deepEqual(capabilities, [
    { name: "arm", protocol: "openpi/0", url: served.url, params: { contract: bridge.contract() } },
  ]);
  assert.equal(await code("no json\n"), -32700);
  assert.equal(await code([]), -32600);
  assert.equal(await code({ id: 4 }), -32600);
  assert.equal(await code({ id: 5, method: "nope" }), -32601);
  assert.equal(await code({ id: 6, method: "result", params: { token: 7 } }), -32602);
  assert.equal(await code({ id: 7, method: "capabilities", params: { name: 7 } }), -32602);
  assert.equal(await code({ id: 8, method: "result", params: { token: "slot-0-x" } }), -32000);
  const broken = await ask({ id: 9, method: "reset", params: { broken: 1 } });
  assert.deepEqual(broken.error, { code: -32000, message: "no such world" });
});

test("lines far over 64 KiB go both ways", async () => {
  const { served, bridge } = await controlled();
  const names = Array.from({ length: 20_000 }, (_, index) => `joint_${index}`);
  bridge.contract = () => ({ features: { action: { role: "action", shape: [2] } }, joints: names });
  const other = await controlled(bridge);
  assert.notEqual(other.served.port, served.port);
  const endpoint = RobotEndpoint.attach({ host: "127.0.0.1", port: other.served.port });
  onTestFinished(() => endpoint.stop());
  const [capability] = await endpoint.start();
  assert.deepEqual((capability!.params["contract"] as { joints: string[] }).joints, names);
  await endpoint.reset({ long: "x".repeat(200_000) });
});

test("a score that is no number is an error on the way out, and an answer with one from a peer names it", async () => {
  const { served, bridge } = await controlled();
  Object.assign(bridge, { result: () => ({ score: Number.NaN, success: null, total_reward: 0 }) });
  const { ask } = await dial(served.port);
  await ask({ id: 1, method: "reset" });
  const { error } = await ask({ id: 2, method: "result" });
  assert.deepEqual([error.code, /score/.test(error.message)], [-32000, true], error.message);
  assert.equal((await ask({ id: 3, method: "reset" })).result.prompt, "count to 1000");

  const port = await peer((method, id) =>
    method === "result"
      ? `{"jsonrpc": "2.0", "id": ${id}, "result": {"score": NaN, "say": "NaN, -Infinity", "low": -Infinity}}`
      : `{"jsonrpc": "2.0", "id": ${id}, "result": {"capabilities": [], "prompt": "NaN", "token": "t"}}`,
  );
  const endpoint = RobotEndpoint.attach({ host: "127.0.0.1", port });
  onTestFinished(() => endpoint.stop());
  await endpoint.start();
  assert.equal((await endpoint.reset()).prompt, "NaN");
  await assert.rejects(
    endpoint.result("t"),
    isError("protocol-violation", /'score' must be a finite number: current value is null/),
  );
  await endpoint.reset();
});

/** A peer's control channel. */
async function peer(answer: (method: string, id: number) => string): Promise<number> {
  return await listen((socket: Socket) => {
    createInterface(socket).on("line", (line) => {
      const { method, id } = JSON.parse(line) as { method: string; id: number };
      socket.write(`${answer(method, id)}\n`);
    });
    socket.on("error", () => undefined);
  });
}

test("answers of a peer that break the protocol are told as that", async () => {
  const answers: Record<string, string> = {
    capabilities: '{"capabilities": 7}',
    reset: '{"prompt": 1, "token": "t"}',
  };
  const port = await peer((method, id) => `{"id": ${id}, "result": ${answers[method]!}}`);
  const endpoint = RobotEndpoint.attach({ host: "127.0.0.1", port });
  await assert.rejects(endpoint.start(), isError("protocol-violation", /'capabilities' must be a list/));
  answers["capabilities"] = '{"capabilities": []}';
  onTestFinished(() => endpoint.stop());
  await endpoint.start();
  await assert.rejects(
    endpoint.reset(),
    isError("protocol-violation", /'prompt' must be text: current value is 1/),
  );
});

test("a web page's POST drives nothing", async () => {
  const { served, bridge } = await controlled();
  const body = `${JSON.stringify({ id: 1, method: "reset" })}\n`;
  const { ask, next } = await dial(served.port);
  const answer = await ask(`POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${body}`);
  assert.equal(answer.error.code, -32700);
  assert.equal(await next(), undefined);
  assert.deepEqual(bridge.resets, []);
});

test("serveBridge() can be closed, and refuses a bridge without a contract", async () => {
  const { served, bridge } = await controlled();
  await Promise.all([served.close(), served.close()]);
  assert.equal(bridge.closed, 1);
  bridge.contract = () => ({ features: {} });
  await assert.rejects(serveBridge(bridge, { program: false }), TypeError);
  assert.equal(bridge.closed, 2);
});
