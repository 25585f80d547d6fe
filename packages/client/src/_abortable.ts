import { setTimeout as sleep } from "node:timers/promises";

/**
 * Waits for a promise, but not longer than a signal allows; what becomes of the promise after that is nobody's business.
 *
 * @param promise What to wait for.
 * @param signal Gives up.
 * @param onAbort Called when it does, before the rejection.
 * @throws The signal's reason.
 */
export async function abortable<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  onAbort?: (reason: unknown) => void,
): Promise<T> {
  if (!signal) return await promise;
  return await new Promise<T>((resolve, reject) => {
    const giveUp = (): void => {
      onAbort?.(signal.reason);
      reject(signal.reason as Error);
    };
    promise.then(
      (value) => {
        signal.removeEventListener("abort", giveUp);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener("abort", giveUp);
        reject(error);
      },
    );
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
  });
}

/**
 * Resolves after a while.
 *
 * @param milliseconds How long.
 * @param signal Gives up.
 * @throws The signal's reason.
 */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(milliseconds, undefined, signal ? { signal } : {});
  } catch {
    signal?.throwIfAborted();
  }
}
