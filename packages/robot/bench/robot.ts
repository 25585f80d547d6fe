import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect } from "@envport/client";
import { WebSocket } from "ws";
import { encode } from "../src/encode.ts";
import { NdArray } from "../src/nd_array.ts";
import { robot } from "../src/robot.ts";
import { RobotClient } from "../src/robot_client.ts";
import { RobotEndpoint } from "../src/robot_endpoint.ts";
import { median, runBench } from "../../../scripts/bench_rows.ts";
import type { Row } from "../../../scripts/bench_rows.ts";

/** Something that takes steps. */
interface Driver extends AsyncDisposable {
  /** Takes some steps, one after another. */
  take(steps: number): Promise<void>;
  /** Milliseconds of processor time that agent and environment have used. */
  cpu(): number;
}

const RAW = "ws with a ready-made frame, same tunnel";
const PEER = "hud 0.6.21, its bridge and its client";
const action = new NdArray(new Float32Array(7));
/** The unit of times in /proc, in milliseconds. */
const TICK_MS = 10;

/**
 * Observations of two pictures of 224 × 224 and eight numbers, an action back for each. Each round measures one side and then
 * the other; the median of the rounds counts.
 *
 * @param options With `quick`, less of everything.
 */
export async function run({ quick }: { quick: boolean }): Promise<Row[]> {
  const rounds = quick ? 3 : 5;
  const steps = quick ? 300 : 1_000;
  const { child, url } = await environment();
  try {
    await using client = await connect(url);
    await client.start("drive");
    await using ours = stepping(await client.open(robot, "robot"), child.pid!);
    await using raw = await rawDriver(client.binding("raw").url, child.pid!);
    const rate = (driver: Driver): Promise<number> => perSecond(driver, steps);
    const rows = [await measure("steps through the tunnel", "1/s", RAW, 0.5, rounds, rate, ours, raw)];
    const { url: direct, params } = client.bindings.find(({ name }) => name === "direct")!;
    const capability = { name: "direct", protocol: "openpi/0", url: direct, params };
    await using plain = stepping(await RobotClient.connect(capability), child.pid!);
    rows.push(await againstPeer(plain, rounds, Math.floor(steps / 2)));
    return rows;
  } finally {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  }
}

/** Processor time is what a step costs; steps each second on a shared machine say less. */
async function againstPeer(ours: Driver, rounds: number, steps: number): Promise<Row> {
  const metric = "processor time of a step, no tunnel";
  const python = process.env["ENVPORT_PEER_PYTHON"];
  if (!python) return missing(metric, "ms", PEER, 4, "ENVPORT_PEER_PYTHON names no Python with hud");
  await using theirs = await peerDriver(python);
  const cost = async (driver: Driver): Promise<number> => {
    const before = driver.cpu();
    await driver.take(steps);
    return (driver.cpu() - before) / steps;
  };
  const row = await measure(metric, "ms", PEER, 4, rounds, cost, ours, theirs);
  const ratio = row.theirs! / row.ours!;
  return { ...row, ratio, ok: ratio >= row.target };
}

async function measure(
  metric: string,
  unit: string,
  reference: string,
  target: number,
  rounds: number,
  work: (driver: Driver) => Promise<number>,
  ours: Driver,
  theirs: Driver,
): Promise<Row> {
  const figures: [number[], number[]] = [[], []];
  await work(ours);
  await work(theirs);
  for (let i = 0; i < rounds; i++) {
    figures[0].push(await work(ours));
    figures[1].push(await work(theirs));
  }
  const [mine, other] = [median(figures[0]), median(figures[1])];
  const ratio = mine / other;
  return { metric, unit, ours: mine, reference, theirs: other, ratio, target, ok: ratio >= target };
}

async function environment(): Promise<{ child: ChildProcess; url: string }> {
  const file = fileURLToPath(new URL("_robot_env.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", "--conditions=@envport/source", file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, url };
}

function stepping(client: RobotClient, pid: number): Driver {
  let first: Promise<unknown> | undefined;
  return {
    take: async (steps) => {
      first ??= client.observation();
      await first;
      for (let i = 0; i < steps; i++) {
        await client.act(action);
        await client.observation();
      }
    },
    cpu: () => ownMilliseconds() + cpuMilliseconds(pid),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function rawDriver(url: string, pid: number): Promise<Driver> {
  const ws = new WebSocket(url, { perMessageDeflate: false });
  const bytes = encode({ actions: action });
  await once(ws, "message");
  return {
    take: (steps) =>
      new Promise((resolve) => {
        let left = steps;
        const next = (): void => {
          if (left-- > 0) ws.send(bytes);
          else {
            ws.off("message", next);
            resolve();
          }
        };
        ws.on("message", next);
        next();
      }),
    cpu: () => ownMilliseconds() + cpuMilliseconds(pid),
    [Symbol.asyncDispose]: () => {
      ws.terminate();
      return Promise.resolve();
    },
  };
}

async function peerDriver(python: string): Promise<Driver> {
  const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  let bridge = 0;
  const endpoint = RobotEndpoint.spawn(
    [python, "-m", "hud.environment.robot.bridge", `${file("peer_robot_bridge.py")}:StillBridge`],
    { connectTimeout: 60_000, onLine: (line) => (bridge = Number(/^PID (\d+)$/.exec(line)?.[1] ?? bridge)) },
  );
  const [capability] = await endpoint.start();
  await endpoint.reset();
  const agent = spawn(python, [file("peer_robot_agent.py"), capability!.url], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface(agent.stdout);
  await once(lines, "line");
  return {
    take: async (steps) => {
      agent.stdin.write(`${String(steps)}\n`);
      await once(lines, "line");
    },
    cpu: () => cpuMilliseconds(agent.pid!) + cpuMilliseconds(bridge),
    [Symbol.asyncDispose]: async () => {
      agent.stdin.end();
      if (agent.exitCode === null) await once(agent, "exit");
      await endpoint.stop();
    },
  };
}

function ownMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** proc(5): the fields `utime` and `stime`, behind the name in brackets. */
function cpuMilliseconds(pid: number): number {
  const fields = readFileSync(`/proc/${String(pid)}/stat`, "utf8")
    .split(") ")
    .at(-1)!
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function perSecond(driver: Driver, steps: number): Promise<number> {
  const started = performance.now();
  await driver.take(steps);
  return steps / ((performance.now() - started) / 1_000);
}

function missing(metric: string, unit: string, reference: string, target: number, reason: string): Row {
  return { metric, unit, ours: null, reference, theirs: null, ratio: null, target, ok: null, reason };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runBench("robot", run, 2);
