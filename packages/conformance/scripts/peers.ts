/**
 * Tries the Python package `hud` on both sides of the contract and writes docs/peers.md:
 * `ENVPORT_PEER_PYTHON=/path/to/python node --import tsx --conditions=@envport/source scripts/peers.ts`.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { runClientBench } from "../src/client_bench.ts";
import type { ModelResult, Report, ScenarioResult } from "../src/report.ts";
import type { Profile, Source } from "../src/requirement.ts";
import { requirements } from "../src/requirements.ts";
import { runServerBench } from "../src/server_bench.ts";

const folder = path.resolve(import.meta.dirname, "..");
const document = path.resolve(folder, "../../docs/peers.md");

/** How many random sequences are played, and which. */
const MODEL = { modelRuns: 30, seed: 1 };
/** A cell of a table is no longer than this. */
const MAX_CELL = 200;

/** What a bench found of the peer, as server and as client. */
export interface Findings {
  readonly server: Report;
  readonly client: Report;
}

/** Something that the contract asks for and the peer does not do. */
export interface Difference {
  readonly rule: string;
  /** Where the contract has it from. */
  readonly source: Source;
  /** The scenario: a sentence that does not hold of the peer. */
  readonly scenario: string;
  /** What the peer does instead. */
  readonly instead: string;
}

/**
 * The interpreter that has the peer.
 *
 * @throws {Error} If nothing says which it is.
 */
export function peerPython(): string {
  const python = process.env["ENVPORT_PEER_PYTHON"];
  if (python) return python;
  throw new Error(
    "Cannot try the Python peer as ENVPORT_PEER_PYTHON must name an interpreter that has hud installed: it is not set",
  );
}

/** The version of the peer that an interpreter has. */
export function peerVersion(python: string): string {
  const code = "from importlib.metadata import version; print(version('hud'))";
  return execFileSync(python, ["-c", code], { encoding: "utf8" }).trim();
}

/** Runs both benches on the peer's fixtures. */
export async function tryPeer(python: string, profile: Profile): Promise<Findings> {
  const fixture = (name: string): string[] => [python, path.join(folder, "fixtures", name)];
  return {
    server: await runServerBench({ command: fixture("server.py"), profile, ...MODEL }),
    client: await runClientBench({ command: fixture("client.py"), profile }),
  };
}

/** What failed, one for each scenario; what the peer has no means for is told by {@linkcode gaps}. */
export function differences({ side, rules }: Report): Difference[] {
  return rules.flatMap(({ id, scenarios }) =>
    scenarios
      .filter((one) => one.status === "fail" && !lacks(one))
      .map(({ name, mismatch, reason }) => ({
        rule: id,
        source: requirements
          .find((one) => one.id === id)!
          .scenarios.find((one) => one.side === side && one.name === name)!.source,
        scenario: name,
        instead: mismatch ? mismatch.got : String(reason),
      })),
  );
}

/** What could not be tried, as the peer has no means for it. */
function gaps({ rules }: Report): { rule: string; scenario: string; why: string }[] {
  return rules.flatMap(({ id, scenarios }) =>
    scenarios
      .filter((one) => one.status === "not-claimed" || lacks(one))
      .map((one) => ({ rule: id, scenario: one.name, why: lacks(one) ?? String(one.reason) })),
  );
}

/** What of the fixture the peer cannot offer, if that is why a scenario failed. */
function lacks({ mismatch }: ScenarioResult): string | undefined {
  const parts = /^the fixture to offer (.*)$/.exec(mismatch?.expected ?? "")?.[1];
  return parts && `its fixture cannot offer ${parts}`;
}

/** The text of docs/peers.md. */
export function formatPeers(version: string, base: Findings, strict: Findings): string {
  const side = (name: "server" | "client", program: string): string[] => [
    `## Its ${name}`,
    "",
    `Base profile: ${counts(base[name])}. Strict profile: ${counts(strict[name])}.`,
    ...[base[name], strict[name]].flatMap(({ profile, model }) =>
      model ? [formatModel(profile, model)] : [],
    ),
    "",
    "| rule | mark | what does not hold | what comes instead |",
    "| --- | --- | --- | --- |",
    ...differences(strict[name]).map(
      ({ rule, source, scenario, instead }) => `| ${rule} | ${source} | ${scenario} | ${cell(instead)} |`,
    ),
    "",
    `What cannot be tried on its ${name}, ${program}:`,
    "",
    "| rule | what | why |",
    "| --- | --- | --- |",
    ...gaps(strict[name]).map(({ rule, scenario, why }) => `| ${rule} | ${scenario} | ${cell(why)} |`),
    "",
  ];
  return [
    "# The Python peer",
    "",
    `Where the package \`hud\` ${version} differs from [the contract](contract.md), rule by rule. This page is generated:`,
    "`packages/conformance/scripts/peers.ts` runs the package's server and client against `@envport/conformance` and",
    "writes it. The mark is the contract's: a row that is marked `base` is one where the contract says that the peer does",
    "the same, and this version does not.",
    "",
    ...side("server", "which `fixtures/server.py` runs"),
    ...side("client", "which `fixtures/client.py` drives"),
  ].join("\n");
}

function counts({ rules }: Report): string {
  const count = (status: string): string => String(rules.filter((rule) => rule.status === status).length);
  return `${count("pass")} rules pass, ${count("fail")} fail, ${count("not-claimed")} are not claimed`;
}

function formatModel(profile: Profile, { status, runs, steps, seed, sequence }: ModelResult): string {
  const played = `Random sequences, ${profile} profile`;
  if (status === "pass") {
    return `${played}: no difference in ${String(runs)} of them, ${String(steps)} steps, seed ${String(seed)}.`;
  }
  return `${played}: a difference after ${String(sequence?.length)} steps, the last of which is \`${cell(sequence?.at(-1) ?? "")}\`.`;
}

/** Text for a table: what is another one in each run is left out. */
function cell(text: string): string {
  const steady = (text || "nothing")
    .replaceAll(/sess-([0-9a-f]{8,})/g, (_, digits: string) => `sess-<${String(digits.length)} digits>`)
    .replaceAll(/127\.0\.0\.1:\d{2,}/g, "127.0.0.1:<port>")
    .replaceAll(/[0-9a-f]{8}-\d+\b/g, "<label>")
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;");
  return steady.length > MAX_CELL ? `${steady.slice(0, MAX_CELL)}…` : steady;
}

/** Rules and scenarios of a side that differ and are marked base, as the committed page has them. */
export function committedDifferences(side: "server" | "client"): string[] {
  const [, section = ""] = readFileSync(document, "utf8").split(`## Its ${side}\n`);
  const [own = ""] = section.split("\n## ");
  return [...own.matchAll(/^\| (\S+) \| base \| (.*?) \| /gm)].map(
    ([, rule, scenario]) => `${rule!}: ${scenario!}`,
  );
}

/** The version that the committed page is about. */
export function committedVersion(): string | undefined {
  return /`hud` (\d+\.\d+\.\d+)/.exec(readFileSync(document, "utf8"))?.[1];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const python = peerPython();
  const [base, strict] = [await tryPeer(python, "base"), await tryPeer(python, "strict")];
  writeFileSync(document, formatPeers(peerVersion(python), base, strict));
}
