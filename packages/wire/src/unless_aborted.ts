/**
 * Rejects as soon as the signal says so; what the promise stands for goes on by itself.
 *
 * @param promise What is waited for.
 * @param signal Gives the waiting up.
 * @throws What the promise rejects with; the signal's reason.
 *
 * @example
 * ```ts
 * import { unlessAborted } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * const never = new Promise(() => {});
 * await assert.rejects(unlessAborted(never, AbortSignal.timeout(1)));
 * ```
 */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await promise;
  promise.catch(() => undefined);
  signal.throwIfAborted();
  let abort!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
