import { EnvportError } from "@envport/wire";
import { pause } from "./_abortable.ts";

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
 * Whether an error says that a connection could not be made or did not last, so that another try may succeed. Of an error
 * without a code of its own, as `fetch` throws it, the cause decides.
 *
 * @param error Whatever was thrown.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof EnvportError) return error.code === "connection-lost";
  // A host with several addresses: it is enough that one of them may be there later.
  if (error instanceof AggregateError) return error.errors.some(isTransient);
  if (!(error instanceof Error)) return false;
  return "code" in error ? TRANSIENT_CODES.has(String(error.code)) : isTransient(error.cause);
}

/**
 * Tries up to three times, 250 ms apart and then 500 ms, as long as the failures are transient (CLI-4).
 *
 * @param connect What to try.
 * @param signal Gives up.
 * @throws What the last try threw; the signal's reason.
 */
export async function connectPatiently<T>(connect: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connect();
    } catch (error) {
      if (attempt === TRIES || !isTransient(error)) throw error;
      await pause(FIRST_DELAY_MS * 2 ** (attempt - 1), signal);
    }
  }
}
