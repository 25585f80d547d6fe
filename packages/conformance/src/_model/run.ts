import fc from "fast-check";
import { Mismatch } from "../_mismatch.ts";
import type { ServerFacts } from "../_server/stage.ts";
import type { ModelResult } from "../report.ts";
import type { Profile } from "../requirement.ts";
import { sequences } from "./commands.ts";
import { Reality } from "./reality.ts";
import { SessionModel } from "./session_model.ts";

/** Options of {@linkcode runModel}. */
export interface ModelOptions {
  profile: Profile;
  runs: number;
  seed: number;
  /**
   * A failure that is still being made smaller after this is told as it is, in milliseconds.
   *
   * @default {60000}
   */
  shrinkMs?: number;
}

/** While a failure is made smaller, what must come is waited for no longer than this, in milliseconds. */
const SHRINK_PATIENCE_MS = 1_000;

/**
 * Plays random sequences of calls against the server and against the model of the session table, and makes the first one
 * on which they differ as short as it can.
 *
 * @param facts Where the server is.
 * @param options How many sequences, and which.
 */
export async function runModel(
  facts: ServerFacts,
  { profile, runs, seed, shrinkMs = 60_000 }: ModelOptions,
): Promise<ModelResult> {
  let steps = 0;
  let failure: { reality: Reality; error: unknown } | undefined;
  let failedAt = Infinity;
  const patience = { ms: facts.patience.ms };
  const property = fc.asyncProperty(sequences(profile), async (sequence) => {
    if (performance.now() - failedAt > shrinkMs) return;
    const reality = new Reality({ ...facts, patience });
    const model = new SessionModel(profile);
    try {
      await reality.clear();
      await fc.asyncModelRun(() => ({ model, real: reality }), sequence);
      await reality.checkTasks(model);
    } catch (error) {
      failure = { reality, error };
      failedAt = Math.min(failedAt, performance.now());
      patience.ms = Math.min(patience.ms, SHRINK_PATIENCE_MS);
      throw error;
    } finally {
      steps += reality.steps.length;
      await reality.close();
    }
  });
  const { failed, numRuns } = await fc.check(property, { numRuns: runs, seed, endOnFailure: false });
  const played = { seed, runs: numRuns, steps };
  if (!failed || !failure) return { status: "pass", ...played };
  const { error, reality } = failure;
  const reason = error instanceof Mismatch ? error.message : `the bench itself failed: ${String(error)}`;
  return { status: "fail", ...played, reason: reality.readable(reason), sequence: reality.steps };
}
