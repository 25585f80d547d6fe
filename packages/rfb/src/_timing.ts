import { EnvportError } from "@envport/wire";

/**
 * Waits.
 *
 * @param ms Milliseconds.
 * @param signal Gives it up; the promise rejects with its reason.
 */
export async function delay(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  if (ms <= 0) return;
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** What a waiting is bounded by. */
export interface Bounds {
  /** What could not be done in time, for the message. */
  readonly what: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly signals: readonly (AbortSignal | undefined)[];
}

/**
 * A promise that whoever waits settles itself, unless time or a signal is faster.
 *
 * @param start Begins the waiting, and returns what ends it.
 * @throws {EnvportError} `timeout`
 */
export async function bounded<T>(
  { what, timeout, signals }: Bounds,
  start: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  for (const signal of signals) signal?.throwIfAborted();
  const cleanups: (() => void)[] = [];
  try {
    return await new Promise<T>((resolve, reject) => {
      for (const signal of signals) {
        if (!signal) continue;
        const abort = (): void => reject(signal.reason as Error);
        signal.addEventListener("abort", abort);
        cleanups.push(() => signal.removeEventListener("abort", abort));
      }
      const late = (): void =>
        reject(new EnvportError("timeout", `Cannot ${what} as it must take at most ${String(timeout)} ms`));
      const timer = setTimeout(late, timeout);
      cleanups.push(() => clearTimeout(timer));
      cleanups.push(start(resolve, reject));
    });
  } finally {
    for (const clean of cleanups) clean();
  }
}
