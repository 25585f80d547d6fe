import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { connect } from "@envport/client";
import type { PublishedCapability } from "@envport/wire";
import { rfb } from "../src/rfb.ts";
import { RfbClient } from "../src/rfb_client.ts";
import type { ScreenProgram } from "../src/screen_options.ts";
import { median, runBench } from "../../../scripts/bench_rows.ts";
import type { Row } from "../../../scripts/bench_rows.ts";

const [WIDTH, HEIGHT] = [1280, 1024];
const PEER = "asyncvnc on the same socket";
const PEER_TUNNEL = "the peer's RFBClient through its forwarder";
const ROOT = path.resolve(import.meta.dirname, "../../..");
const PYTHON = process.env["ENVPORT_PEER_PYTHON"] ?? path.join(ROOT, ".tools/peer/bin/python");
/** Nothing of the peer's may leave this machine. */
const PEER_ENV = {
  PATH: process.env["PATH"],
  HUD_TELEMETRY_ENABLED: "false",
  HUD_CLI_ANALYTICS_ENABLED: "false",
  HUD_SKIP_VERSION_CHECK: "1",
};
/** Where a click paints, and where it is looked for: a corner of what is painted last. */
const SMALL = { x: 300, y: 200, look: { x: 390, y: 230, width: 8, height: 8 } };
const FULL = { x: 300, y: 800, look: { x: WIDTH - 8, y: HEIGHT - 8, width: 8, height: 8 } };

type Place = typeof SMALL;

/** Who drives the screen, connected only for its turn: a server tells every client every change. */
interface Side extends AsyncDisposable {
  /** Milliseconds from a click to the change that it makes. */
  click(place: Place): Promise<number>;
  /** Milliseconds for a PNG of the whole screen. */
  screenshot(): Promise<number>;
}

/**
 * From a click to its pixels decoded, and screenshots a second, on a screen of 1280 x 1024, beside the peer's client
 * library on the same server. The sides take turns; the median of all turns counts.
 *
 * @param options With `quick`, less of everything.
 */
export async function run({ quick }: { quick: boolean }): Promise<Row[]> {
  const [turns, count] = quick ? [2, 10] : [4, 30];
  await using served = await ServedScreen.start();
  const { capability, url } = served;
  await startPainter(served);
  const sides = {
    direct: async () => ourSide(await RfbClient.connect(capability)),
    tunnel: async () => {
      const client = await connect(url);
      return ourSide(await client.open(rfb), client);
    },
    own: async () => ourSide(await RfbClient.connect(capability, { imageEncoder: "own" })),
    peer: () => Promise.resolve(new Peer((capability.dial as { path: string }).path)),
    peerTunnel: () => Promise.resolve(new Peer(url)),
  };
  const measure = async (
    open: () => Promise<Side>,
    work: (side: Side) => Promise<number>,
  ): Promise<number[]> => {
    await using side = await open();
    await work(side);
    const figures: number[] = [];
    for (let i = 0; i < count; i++) figures.push(await work(side));
    return figures;
  };
  const medians = async (
    names: readonly (keyof typeof sides)[],
    work: (side: Side) => Promise<number>,
  ): Promise<(number | null)[]> => {
    const figures = names.map((): number[] => []);
    for (let turn = 0; turn < turns; turn++) {
      for (const [i, name] of names.entries()) {
        if (!name.startsWith("peer") || existsSync(PYTHON))
          figures[i]!.push(...(await measure(sides[name], work)));
      }
    }
    return figures.map((each) => (each.length === 0 ? null : median(each)));
  };

  const rows: Row[] = [];
  for (const [what, place, budget] of [
    ["small change", SMALL, 4],
    ["full screen", FULL, 20],
  ] as const) {
    const names = ["direct", "peer", "tunnel", "peerTunnel"] as const;
    const [direct, peer, tunnel, peerTunnel] = await medians(names, (side) => side.click(place));
    rows.push(
      faster(`click to pixels, ${what}`, direct!, PEER, peer!, 2),
      faster(`click to pixels, ${what}, tunnel`, tunnel!, PEER_TUNNEL, peerTunnel!, 2),
      faster(`click to pixels, ${what}, budget`, direct!, "a quiet machine's budget", budget, 1),
    );
  }
  await fillWithText(served);
  const took = await medians(["direct", "own", "peer"], (side) => side.screenshot());
  const [withSharp, without, theirs] = took.map((ms) => (ms === null ? null : 1_000 / ms));
  return [
    ...rows,
    more("PNG screenshots with sharp", withSharp!, "asyncvnc and Pillow", theirs!, 2),
    more("PNG screenshots with sharp, goal", withSharp!, "the goal", 40, 1),
    more("PNG screenshots without sharp", without!, "the goal", 25, 1),
  ];
}

/** Our client, and what it came through. */
function ourSide(client: RfbClient, through?: AsyncDisposable): Side {
  return {
    click: (place) => click(client, place),
    screenshot: async () => {
      const started = performance.now();
      await client.screenshot();
      return performance.now() - started;
    },
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await through?.[Symbol.asyncDispose]();
    },
  };
}

/** Milliseconds from a click to the change that it makes. */
async function click(client: RfbClient, { x, y, look }: Place): Promise<number> {
  const since = await client.frame({ region: look });
  const started = performance.now();
  const changed = client.waitForChange({ since });
  const clicked = client.click(x, y, { holdTime: 0, on: "screen" });
  await changed;
  const took = performance.now() - started;
  await clicked;
  return took;
}

async function startPainter(served: ServedScreen): Promise<void> {
  await using client = await RfbClient.connect(served.capability);
  const since = await client.frame();
  const args = ["--import", "tsx", path.join(import.meta.dirname, "_painter.ts")];
  served.spawn({ command: [process.execPath, ...args], cwd: ROOT });
  await client.waitForChange({ since, timeout: 20_000 });
  await client.waitForSettle();
}

/** What a desktop looks like: text on the whole screen. */
async function fillWithText(served: ServedScreen): Promise<void> {
  await using client = await RfbClient.connect(served.capability);
  const since = await client.frame();
  const command = "ls -l --color=always /usr/bin /etc | head -n 4000; sleep 600";
  served.spawn(["xterm", "-geometry", "212x78+0+0", "-e", "sh", "-c", command]);
  await client.waitForChange({ since });
  await client.waitForSettle({ quiet: 500 });
}

/** A screen that another process serves, as it is where it is used. */
class ServedScreen implements AsyncDisposable {
  readonly capability: PublishedCapability;
  readonly url: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>, told: string) {
    this.#child = child;
    const { capability, url } = JSON.parse(told) as { capability: PublishedCapability; url: string };
    this.capability = capability;
    this.url = url;
  }

  static async start(): Promise<ServedScreen> {
    const args = ["--import", "tsx", "--conditions=@envport/source"];
    const program = path.join(import.meta.dirname, "_served_screen.ts");
    const child = spawn(process.execPath, [...args, program], {
      stdio: ["pipe", "pipe", "inherit"],
      cwd: ROOT,
    });
    const [told] = (await once(createInterface(child.stdout), "line")) as [string];
    return new ServedScreen(child, told);
  }

  spawn(program: string | readonly string[] | ScreenProgram): void {
    this.#child.stdin.write(`${JSON.stringify(program)}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin.end();
    await exited;
  }
}

/** The peer's library in its own process. */
class Peer implements Side {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor(place: string) {
    const program = path.join(import.meta.dirname, "asyncvnc_clicks.py");
    this.#child = spawn(PYTHON, [program, place], { stdio: ["pipe", "pipe", "ignore"], env: PEER_ENV });
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  async click({ x, y, look }: Place): Promise<number> {
    return await this.#ask(["click", x, y, look.x, look.y].join(" "));
  }

  async screenshot(): Promise<number> {
    return await this.#ask("screenshot");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin.end();
    await exited;
  }

  async #ask(command: string): Promise<number> {
    this.#child.stdin.write(`${command}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("The peer's program has ended");
    return Number(value);
  }
}

function faster(metric: string, ours: number, reference: string, theirs: number | null, target: number): Row {
  return compare(
    { metric, unit: "ms", ours, reference, theirs, target },
    theirs === null ? null : theirs / ours,
  );
}

function more(metric: string, ours: number, reference: string, theirs: number | null, target: number): Row {
  return compare(
    { metric, unit: "1/s", ours, reference, theirs, target },
    theirs === null ? null : ours / theirs,
  );
}

function compare(row: Omit<Row, "ratio" | "ok">, ratio: number | null): Row {
  if (ratio === null) return { ...row, ratio, ok: null, reason: "the Python peer is not installed" };
  return { ...row, ratio, ok: ratio >= row.target };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runBench("rfb", run);
