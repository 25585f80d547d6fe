import { setTimeout as sleep } from "node:timers/promises";
import { EnvportError } from "@envport/wire";

const TRIES = 3;
const FIRST_DELAY_MS = 250;

/** System errors that mean "nobody there yet", or "gone just now". */
const TRANSIENT_CODES = new Set([
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
]);

/**
 * Whether an error says that a connection could not be made or did not last, so that another try may succeed.
 *
 * @param error Whatever was thrown.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof EnvportError && error.code === "connection-lost") return true;
  if (error instanceof AggregateError) return error.errors.every(isTransient);
  return error instanceof Error && "code" in error && TRANSIENT_CODES.has(String(error.code));
}

/**
 * Tries up to three times, 250 ms apart and then 500 ms, as long as the failures are transient (CLI-4).
 *
 * @param connect What to try.
 * @param signal Gives up.
 */
export async function connectPatiently<T>(connect: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connect();
    } catch (error) {
      if (attempt === TRIES || !isTransient(error)) throw error;
      await sleep(FIRST_DELAY_MS * 2 ** (attempt - 1), undefined, signal ? { signal } : {});
    }
  }
}
