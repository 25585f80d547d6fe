import { connect } from "@envport/client";
import type { Client } from "@envport/client";
import { filetracking } from "@envport/filetracking";
import type { FileTrackingClient } from "@envport/filetracking";
import { Journal } from "./journal.ts";
import type { JournalEntry } from "./journal.ts";
import type { ReferenceTask } from "./tasks.ts";

/** How an episode went. */
export interface EpisodeResult {
  /** Its name. */
  task: string;
  capabilities: readonly string[];
  /** Empty if it did not start. */
  prompt: string;
  answer?: unknown;
  score: number;
  /** Whether the score is 1. */
  ok: boolean;
  /** From connecting to the score, in milliseconds. */
  ms: number;
  /** What the agent changed in the workspace, as `git apply` takes it; of a task with a shell. */
  patch?: string;
  /** What the agent did and saw. */
  journal: readonly JournalEntry[];
  error?: string;
}

/**
 * One episode over the control port: connect, start, solve, grade.
 *
 * @param url Where the environment is served.
 * @param task What to do.
 */
export async function runEpisode(url: string, task: ReferenceTask): Promise<EpisodeResult> {
  const { id, name = id, capabilities } = task;
  const journal = new Journal();
  const result: EpisodeResult = {
    ...{ task: name, capabilities, prompt: "", score: 0, ok: false, ms: 0 },
    journal: journal.entries,
  };
  try {
    await using client = await connect(url, { readyTimeout: 10_000 });
    const running = await client.start(id);
    result.prompt = running.promptText;
    const tracking = await trackFiles(client, task);
    result.answer = await task.solve(client, running.promptText, journal);
    if (tracking) result.patch = await tracking.toPatch();
    const { score } = await running.grade(result.answer);
    Object.assign(result, { score, ok: score === 1 });
  } catch (error) {
    result.error = error instanceof Error ? error.message : String(error);
  }
  return { ...result, ms: journal.elapsed };
}

/** From here on, what changes in the workspace is the agent's doing. */
async function trackFiles(client: Client, task: ReferenceTask): Promise<FileTrackingClient | undefined> {
  const isTracked = client.bindings.some(({ protocol }) => protocol === filetracking.id);
  if (!isTracked || !task.capabilities.includes("ssh")) return undefined;
  const tracking = await client.open(filetracking);
  await tracking.setup();
  return tracking;
}
