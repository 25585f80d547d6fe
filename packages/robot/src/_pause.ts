import { setTimeout as sleep } from "node:timers/promises";

/**
 * Waits some milliseconds.
 *
 * @throws The signal's reason.
 */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(milliseconds, undefined, signal ? { signal } : {});
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
