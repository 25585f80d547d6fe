import { EnvportError } from "@envport/wire";

/**
 * Waits.
 *
 * @param ms Milliseconds.
 * @param signals Give it up; the promise rejects with their reason.
 */
export async function delay(ms: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  for (const signal of signals) signal?.throwIfAborted();
  if (ms <= 0) return;
  await bounded<undefined>({ what: "wait", timeout: Infinity, signals }, (resolve) => {
    const timer = setTimeout(resolve, ms, undefined);
    return () => clearTimeout(timer);
  });
}

/** What a waiting is bounded by. */
export interface Bounds {
  /** What could not be done in time, for the message. */
  readonly what: string;
  /** Milliseconds, or Infinity. */
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
      const timer = timeout === Infinity ? undefined : setTimeout(late, timeout);
      cleanups.push(() => clearTimeout(timer));
      cleanups.push(start(resolve, reject));
    });
  } finally {
    for (const clean of cleanups) clean();
  }
}
