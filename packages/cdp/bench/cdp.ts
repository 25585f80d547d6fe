import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { CdpClient, cdp, cdpCapability } from "@envport/cdp";
import type { CdpPage } from "@envport/cdp";
import { connect } from "@envport/client";
import type { CDPSession } from "playwright-core";
import { median, runBench } from "../../../scripts/bench_rows.ts";
import type { Row } from "../../../scripts/bench_rows.ts";

const PAGE = "data:text/html,<h1 style='color:teal'>bench</h1><p>some text</p>";
const STRAIGHT = "the same client straight to Chromium";
const PLAYWRIGHT = "Playwright's CDPSession through the same tunnel";

/** Sends one command and waits for its answer. */
type Command = () => Promise<unknown>;

/**
 * A browser behind an environment in another process, driven through the tunnel by our client and by Playwright, and
 * straight. Each round measures one and then the other; the median of the rounds counts.
 *
 * @param options With `quick`, less of everything.
 */
export async function run({ quick }: { quick: boolean }): Promise<Row[]> {
  const rounds = quick ? 5 : 11;
  const commands = quick ? 300 : 600;
  const shots = quick ? 4 : 8;
  const served = await startEnvironment();
  const client = await connect(served.url);
  const tunnelled = await client.open(cdp);
  const straight = await CdpClient.connect(cdpCapability({ url: served.direct }));
  const page = await tunnelled.newPage(PAGE);
  const samePage = await straight.attach(page.targetId);
  const playwright = await tunnelled.playwright();
  const theirs = playwright
    .contexts()[0]!
    .pages()
    .find((candidate) => candidate.url() === page.url)!;
  const session = await theirs.context().newCDPSession(theirs);
  const oursThrough = command(page);
  const compare = async (
    metric: string,
    target: number,
    reference: string,
    work: readonly [ours: Command, theirs: Command],
  ): Promise<Row> => {
    const figures: [number[], number[]] = [[], []];
    for (let i = 0; i <= rounds; i++) {
      for (const side of [0, 1] as const)
        figures[side].push(await rate(metric, work[side], { commands, shots }));
    }
    // The first round is for getting warm.
    const [mine, other] = [median(figures[0].slice(1)), median(figures[1].slice(1))];
    const ratio = mine / other;
    return { metric, unit: "1/s", ours: mine, reference, theirs: other, ratio, target, ok: ratio >= target };
  };
  try {
    return [
      await compare("commands one after another", 0.85, STRAIGHT, [oursThrough, command(samePage)]),
      await compare("commands, 32 at once", 0.85, STRAIGHT, [oursThrough, command(samePage)]),
      await compare("screenshots, png", 0.85, STRAIGHT, [
        () => page.screenshot(),
        () => samePage.screenshot(),
      ]),
      await compare("commands one after another", 2, PLAYWRIGHT, [oursThrough, sessionCommand(session)]),
      await compare("commands, 32 at once", 2, PLAYWRIGHT, [oursThrough, sessionCommand(session)]),
    ];
  } finally {
    await playwright.close();
    await straight.close();
    await client.close();
    await served[Symbol.asyncDispose]();
  }
}

const EVALUATION = { expression: "document.title.length + 1", returnByValue: true };

function command(page: CdpPage): Command {
  return () => page.send("Runtime.evaluate", EVALUATION);
}

function sessionCommand(session: CDPSession): Command {
  return () => session.send("Runtime.evaluate", EVALUATION);
}

/** How often a second. */
async function rate(
  metric: string,
  work: Command,
  { commands, shots }: { commands: number; shots: number },
): Promise<number> {
  const lanes = metric.includes("32 at once") ? 32 : 1;
  const each = metric.startsWith("screenshots") ? shots : Math.ceil(commands / lanes);
  const started = performance.now();
  const lane = async (): Promise<void> => {
    for (let i = 0; i < each; i++) await work();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return (each * lanes * 1_000) / (performance.now() - started);
}

async function startEnvironment(): Promise<{ url: string; direct: string } & AsyncDisposable> {
  const script = join(import.meta.dirname, "_environment.ts");
  const words = ["--import", "tsx", "--conditions=@envport/source", script];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return {
    ...(JSON.parse(line) as { url: string; direct: string }),
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runBench("cdp", run);
