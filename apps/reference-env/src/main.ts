// Serves the reference environment, lets a scripted agent work on each of its tasks, and prints how that went:
// a line a task and `N passed, N failed`, or with --json one object a task. --only <task> runs one. What the agents did and
// saw goes into report/index.html.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { serve } from "@envport/server";
import { colourPatch } from "./colour_patch.ts";
import { createEnvironment } from "./environment.ts";
import { renderReport, withoutPictures } from "./report.ts";
import type { EpisodeResult } from "./run_episode.ts";
import { runEpisode } from "./run_episode.ts";
import { TASKS } from "./tasks.ts";

const { json, only } = readArguments();
const chosen = TASKS.filter(({ id }) => only === undefined || id === only);
if (chosen.length === 0) {
  stop(
    `Cannot run task '${only!}' as there is none of that name: known are ${TASKS.map(({ id }) => id).join(", ")}`,
  );
}

const folder = await mkdtemp(path.join(os.tmpdir(), "envport-"));
const results: EpisodeResult[] = [];
try {
  await using server = await serve(await createEnvironment({ folder }), { signals: true });
  for (const task of chosen) {
    const result = await runEpisode(server.url, task);
    results.push(result);
    process.stdout.write(json ? toJsonLine(result) : describe(result));
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
const passed = results.filter(({ ok }) => ok).length;
const failed = chosen.length - passed;
const report = path.resolve("report/index.html");
await mkdir(path.dirname(report), { recursive: true });
await writeFile(report, renderReport(results, { environment: "reference 0.1.0", date: new Date() }));
process.stderr.write(`report: ${report}\n`);
if (!json) process.stdout.write(`${String(passed)} passed, ${String(failed)} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function readArguments(): { json: boolean; only: string | undefined } {
  try {
    const options = { json: { type: "boolean", default: false }, only: { type: "string" } } as const;
    const { values } = parseArgs({ options });
    return { json: values.json, only: values.only };
  } catch (error) {
    return stop(`${(error as Error).message}\nUsage: npm start -- [--json] [--only <task>]`);
  }
}

function toJsonLine(result: EpisodeResult): string {
  return `${JSON.stringify({ ...result, journal: withoutPictures(result.journal) })}\n`;
}

function describe({ task, capabilities, score, ok, ms, patch = "", error }: EpisodeResult): string {
  const columns = [
    ok ? "passed" : "FAILED",
    task.padEnd(14),
    capabilities.join("+").padEnd(11),
    `score ${String(score)}`,
  ];
  return `${columns.join("  ")}  ${String(ms)} ms${error ? `  ${error}` : ""}\n${inColour() ? colourPatch(patch) : patch}`;
}

function inColour(): boolean {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  return FORCE_COLOR ? FORCE_COLOR !== "0" : process.stdout.isTTY && !NO_COLOR;
}

function stop(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}
