import { isJsonObject } from "@envport/wire";
import { Mismatch } from "./_mismatch.ts";
import { runModel } from "./_model/run.ts";
import { parseAddress } from "./_parse_address.ts";
import type { Patience } from "./_patience.ts";
import { PlayAgain, checkRules, play } from "./_play.ts";
import type { Address } from "./_raw_connection.ts";
import type { Scenario } from "./_scenario.ts";
import type { Limits } from "./_server/fixture.ts";
import { DEFAULT_LIMITS, FIXTURE_TASKS } from "./_server/fixture.ts";
import { LaunchedServer } from "./_server/launch.ts";
import { SERVER_SCENARIOS } from "./_server/scenarios.ts";
import type { ServerFacts } from "./_server/stage.ts";
import { ServerStage } from "./_server/stage.ts";
import { Talk } from "./_talk.ts";
import { BenchError } from "./bench_error.ts";
import type { ModelResult, Report } from "./report.ts";
import type { Profile } from "./requirement.ts";

/** Options of {@linkcode runServerBench}. */
export interface ServerBenchOptions {
  /** Where a server with the fixture listens: `tcp://127.0.0.1:8765`. Either this or a command. */
  url?: string;
  /** A program and its words that serve the fixture and print `HUD_SERVE_PORT=<port>`; the bench starts and stops it. */
  command?: readonly string[];
  /** @default {"strict"} */
  profile?: Profile;
  /** Ids of the only rules to try; the model is then left out, unless `"model"` is among them. */
  rules?: readonly string[];
  /**
   * How many random sequences are played; 0 = none.
   *
   * @default {100}
   */
  modelRuns?: number;
  /**
   * Seed of the random sequences.
   *
   * @default a random one, which the report tells
   */
  seed?: number;
  /**
   * How long to wait for what must come, in milliseconds.
   *
   * @default {10000}
   */
  patience?: number;
}

/** How many scenarios are played at the same time. */
const PARALLEL = 8;
/** How long the very first thing may take, however impatient the bench is told to be, in milliseconds. */
const FIRST_MS = 10_000;

/**
 * Tries every rule of the contract on a server that offers the fixture (README, "The fixture of a server"). It speaks
 * bytes and lines on sockets of its own, and sends nothing elsewhere.
 *
 * @param options Where the server is, and what to try.
 * @returns What became of each rule; a rule that fails is no exception.
 * @throws {BenchError} If the url cannot be read, the server cannot be reached or started, or it has none of the fixture's tasks.
 *
 * @example
 * ```ts
 * import { runServerBench } from "@envport/conformance";
 * import { Environment, serve } from "@envport/server";
 * import assert from "node:assert/strict";
 *
 * await using server = await serve(new Environment({ name: "bare" }));
 * const report = await runServerBench({ url: server.url, rules: ["FRAME-6", "SESS-3"] });
 * assert.deepEqual(
 *   report.rules.map(({ id, status }) => `${id} ${status}`),
 *   ["FRAME-6 pass", "SESS-3 pass"],
 * );
 * ```
 */
export async function runServerBench(options: ServerBenchOptions): Promise<Report> {
  const { url, command, profile = "strict", rules } = options;
  const ids = rules?.filter((id) => id !== "model");
  checkRules(ids, "server");
  const patience = { ms: options.patience ?? 10_000 };
  const launch = command ? () => LaunchedServer.start(command) : undefined;
  const launched = await launch?.();
  const address = launched?.address ?? parseAddress(url);
  const facts: ServerFacts = { address, patience, limits: DEFAULT_LIMITS, launch, launched };
  try {
    const fixture = await readFixture(address, { ms: Math.max(patience.ms, FIRST_MS) });
    facts.limits = fixture.limits;
    const results = await play(SERVER_SCENARIOS, {
      side: "server",
      profile,
      rules: ids,
      parallel: PARALLEL,
      perform: (scenario, alone) => perform(scenario, alone, facts, fixture),
    });
    await revive(facts);
    const withModel = (options.modelRuns ?? 100) > 0 && (!rules || rules.includes("model"));
    const model = withModel ? await playModel(facts, fixture, options) : undefined;
    const ok = results.every(({ status }) => status !== "fail") && model?.status !== "fail";
    const target = command?.join(" ") ?? url!;
    return { side: "server", target, profile, rules: results, ...(model ? { model } : {}), ok };
  } finally {
    await facts.launched?.end();
  }
}

/** What a server offers to the bench. */
interface Fixture {
  offered: Set<string>;
  limits: Limits;
}

async function readFixture(address: Address, patience: Patience): Promise<Fixture> {
  const talk = await connectFirst(address, patience);
  // However wrong a server is, the scenarios shall say so: here anything goes that can be read.
  const ask = async (method: string, params: object): Promise<Record<string, unknown>> => {
    talk.request(method, params);
    const { result } = await talk.frame().catch(() => ({ result: undefined }));
    return isJsonObject(result) ? result : {};
  };
  const { bindings } = await ask("hello", {});
  const { tasks } = await ask("tasks.list", {});
  const offered = new Set([...namesIn(bindings, "name"), ...namesIn(tasks, "id")]);
  const { prompt } = offered.has("limits") ? await ask("tasks.start", { id: "limits" }) : {};
  await ask("bye", {});
  talk.raw.destroy();
  return {
    offered,
    limits: { ...DEFAULT_LIMITS, ...(isJsonObject(prompt) ? (prompt as Partial<Limits>) : {}) },
  };
}

async function connectFirst(address: Address, patience: Patience): Promise<Talk> {
  try {
    return await Talk.connect(address, patience);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    const where = `${address.host}:${String(address.port)}`;
    throw new BenchError(`Cannot connect to the server at ${where}: ${error.parts.got}`);
  }
}

function namesIn(list: unknown, key: string): string[] {
  const all: unknown[] = Array.isArray(list) ? list : [];
  return all.filter(isJsonObject).map((one) => String(one[key]));
}

async function perform(
  scenario: Scenario<ServerStage>,
  alone: boolean,
  facts: ServerFacts,
  { offered }: Fixture,
): Promise<void> {
  const missing = (scenario.needs ?? []).filter((name) => !offered.has(name));
  if (missing.length > 0) checkOffered(missing, offered);
  await revive(facts);
  const { launched } = facts;
  const stage = new ServerStage(facts);
  try {
    if (scenario.alone && offered.has("ledger")) await stage.clear();
    await scenario.run(stage);
  } catch (error) {
    const ending = error instanceof Mismatch ? await launched?.ending() : undefined;
    if (!(error instanceof Mismatch) || ending === undefined) throw error;
    if (!alone) throw new PlayAgain();
    throw new Mismatch({ ...error.parts, got: `${error.parts.got}; ${ending}` });
  } finally {
    await stage.close();
  }
}

/** Starts the server again if a scenario has brought it down: the others shall tell something, too. */
async function revive(facts: ServerFacts): Promise<void> {
  if (!facts.launched || (await facts.launched.ending(0)) === undefined) return;
  facts.reviving ??= (async () => {
    await facts.launched?.end();
    facts.launched = await facts.launch!();
    facts.address = facts.launched.address;
    facts.reviving = undefined;
  })();
  await facts.reviving;
}

/** A part of the fixture that lacks is a failure; if nothing of it is there, the wrong server is being tested. */
function checkOffered(missing: readonly string[], offered: ReadonlySet<string>): never {
  if (!FIXTURE_TASKS.some((name) => offered.has(name))) {
    throw new BenchError(
      `Cannot test this server as it offers none of the fixture's tasks (${FIXTURE_TASKS.slice(0, 3).join(", ")}, …): the README says what a server under test must offer`,
    );
  }
  throw new Mismatch({
    sent: "hello and tasks.list",
    expected: `the fixture to offer ${missing.map((name) => `'${name}'`).join(", ")}`,
    got: "it is missing",
  });
}

async function playModel(
  facts: ServerFacts,
  { offered }: Fixture,
  options: ServerBenchOptions,
): Promise<ModelResult> {
  const missing = ["echo", "throw-grade", "throw-start", "slow-grade", "ledger", "release"].filter(
    (name) => !offered.has(name),
  );
  if (missing.length > 0) checkOffered(missing, offered);
  return await runModel(facts, {
    profile: options.profile ?? "strict",
    runs: options.modelRuns ?? 100,
    seed: options.seed ?? Math.floor(Math.random() * 2 ** 31),
  });
}
