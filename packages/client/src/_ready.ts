import type { AbortOptions } from "@envport/wire";
import { EnvportError, ProtocolError } from "@envport/wire";
import { pause } from "./_abortable.ts";
import { isTransient } from "./_retry.ts";

/** Options of {@linkcode untilReady}. */
export interface ReadyOptions extends AbortOptions {
  /** As it is shown to people. */
  url: string;
  /** In milliseconds. */
  readyTimeout: number;
}

const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 1_000;
/** How long one try may hang: something accepts connections where no environment answers yet. */
const LONGEST_TRY_MS = 10_000;
/** The last try begins when the time is up; it must have a chance. */
const SHORTEST_TRY_MS = 500;
/** How long a resumed session may still have its old connection. */
const LIVE_SESSION_MS = 10_000;

/**
 * Tries until the environment answers, with growing pauses (CLI-1).
 *
 * @param attempt One try: to connect and say hello.
 * @param options How long.
 * @throws {EnvportError} If nothing answers in time (`not-ready`).
 * @throws What an attempt throws that says more than "not there yet"; the signal's reason.
 */
export async function untilReady<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  { url, readyTimeout, signal }: ReadyOptions,
): Promise<T> {
  const deadline = performance.now() + readyTimeout;
  for (let delay = FIRST_DELAY_MS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MS)) {
    const tryMs = Math.min(Math.max(deadline - performance.now(), SHORTEST_TRY_MS), LONGEST_TRY_MS);
    const timeout = AbortSignal.timeout(Math.ceil(tryMs));
    try {
      return await attempt(AbortSignal.any(signal ? [signal, timeout] : [timeout]));
    } catch (error) {
      signal?.throwIfAborted();
      const hung = error === timeout.reason;
      if (!hung && !isTransient(error)) throw error;
      const left = deadline - performance.now();
      if (left <= 0) throw notReady(url, readyTimeout, error, hung ? "no answer" : reasonOf(error));
      await pause(Math.min(delay, left), signal);
    }
  }
}

function notReady(url: string, readyTimeout: number, cause: unknown, last: string): EnvportError {
  const seconds = String(readyTimeout / 1000);
  return new EnvportError(
    "not-ready",
    `Cannot connect to ${url} as no environment answered within ${seconds} s (last: ${last}): is it served there?`,
    { cause },
  );
}

/** The system's word for it if there is one: `ECONNREFUSED`. */
function reasonOf(error: unknown): string {
  const { code } = ((error instanceof EnvportError ? error.cause : error) ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : (error as Error).message.replace(/^Cannot go on as /, "");
}

/**
 * Tries until a session is free to be resumed: a server that knows no takeover frees it only once it has missed the old
 * connection.
 *
 * @param attempt One try.
 * @param signal Gives up.
 */
export async function untilFree<T>(attempt: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const deadline = performance.now() + LIVE_SESSION_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const live = error instanceof ProtocolError && error.message.includes("has a live connection");
      if (!live || performance.now() > deadline) throw error;
      await pause(LONGEST_DELAY_MS / 4, signal);
    }
  }
}
