import { connect } from "@envport/client";
import type { Client } from "@envport/client";
import { filetracking } from "@envport/filetracking";
import type { FileTrackingClient } from "@envport/filetracking";
import type { ReferenceTask } from "./tasks.ts";

/** How an episode went. */
export interface EpisodeResult {
  task: string;
  capabilities: readonly string[];
  score: number;
  /** Whether the score is 1. */
  ok: boolean;
  /** From connecting to the score, in milliseconds. */
  ms: number;
  /** What the agent changed in the workspace, as `git apply` takes it; of a task with a shell. */
  patch?: string;
  error?: string;
}

/**
 * One episode over the control port: connect, start, solve, grade.
 *
 * @param url Where the environment is served.
 * @param task What to do.
 */
export async function runEpisode(url: string, task: ReferenceTask): Promise<EpisodeResult> {
  const { id, capabilities } = task;
  const started = performance.now();
  const elapsed = (): number => Math.round(performance.now() - started);
  try {
    await using client = await connect(url, { readyTimeout: 10_000 });
    const running = await client.start(id);
    const tracking = await trackFiles(client, task);
    const answer = await task.solve(client, running.promptText);
    const patch = await tracking?.toPatch();
    const { score } = await running.grade(answer);
    return {
      task: id,
      capabilities,
      score,
      ok: score === 1,
      ms: elapsed(),
      ...(patch === undefined ? {} : { patch }),
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { task: id, capabilities, score: 0, ok: false, ms: elapsed(), error: message };
  }
}

/** From here on, what changes in the workspace is the agent's doing. */
async function trackFiles(client: Client, task: ReferenceTask): Promise<FileTrackingClient | undefined> {
  const isTracked = client.bindings.some(({ protocol }) => protocol === filetracking.id);
  if (!isTracked || !task.capabilities.includes("ssh")) return undefined;
  const tracking = await client.open(filetracking);
  await tracking.setup();
  return tracking;
}
