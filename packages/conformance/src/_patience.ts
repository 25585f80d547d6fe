import { setTimeout as sleep } from "node:timers/promises";
import { Mismatch } from "./_mismatch.ts";

/** How long the bench waits for something that must come; no measure of speed. */
export interface Patience {
  /** In milliseconds. */
  ms: number;
}

/** How often something is looked at that tells nobody when it changes, in milliseconds. */
const POLL_MS = 10;

/**
 * Waits for something that must come.
 *
 * @param coming What is waited for.
 * @param patience For how long.
 * @param mismatch What is wrong when it does not come.
 * @throws {Mismatch} When patience is over.
 */
export async function within<T>(
  coming: Promise<T>,
  patience: Patience,
  mismatch: { sent: string; expected: string },
): Promise<T> {
  const over = new AbortController();
  const late = sleep(patience.ms, undefined, { signal: over.signal }).then(() => {
    throw new Mismatch({ ...mismatch, got: `nothing within ${String(patience.ms / 1000)} s` });
  });
  late.catch(() => {});
  try {
    return await Promise.race([coming, late]);
  } finally {
    over.abort();
  }
}

/**
 * Waits for something that may come late or never, and leaves no timer behind.
 *
 * @param coming What is waited for.
 * @param ms For how long.
 * @returns What came; undefined if nothing did.
 */
export async function atMost<T>(coming: Promise<T> | undefined, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined);
    }, ms);
  });
  try {
    return await Promise.race([coming, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Asks again and again until the answer fits.
 *
 * @param ask Asks once.
 * @param fits Whether it is the answer that must come.
 * @param patience For how long.
 * @param mismatch What is wrong when it does not come.
 * @returns The answer that fits.
 * @throws {Mismatch} When patience is over; it tells the last answer.
 */
export async function until<T>(
  ask: () => Promise<T> | T,
  fits: (answer: T) => boolean,
  patience: Patience,
  mismatch: { sent: string; expected: string },
): Promise<T> {
  for (const deadline = performance.now() + patience.ms; ;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (performance.now() > deadline) {
      throw new Mismatch({
        ...mismatch,
        got: `${JSON.stringify(answer)}, for ${String(patience.ms / 1000)} s`,
      });
    }
    await sleep(POLL_MS);
  }
}
