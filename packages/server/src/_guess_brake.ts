import { setTimeout as sleep } from "node:timers/promises";
import { ErrorCode, ProtocolError } from "@envport/wire";

/** So many wrong tokens of a source cost nothing: people mistype. */
const FREE_FAILURES = 5;
/** The first pause, and the longest, in milliseconds; each further failure doubles it. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** After so long without a failure a source is as good as new, in milliseconds. */
const FORGET_MS = 600_000;
/** So many connections of a source may wait; more are sent away unheard. */
const MAX_WAITING = 16;
/** So many sources are remembered; the oldest go first. */
const MAX_SOURCES = 10_000;

interface Suspect {
  failures: number;
  lastFailure: number;
  waiting: number;
  /** Resolves when those before have had their turn. */
  turn: Promise<void>;
}

/** Makes guessing slow: who has brought several wrong tokens waits before the next one is looked at, one after the other. */
export class GuessBrake {
  readonly #suspects = new Map<string, Suspect>();

  /**
   * Lets the next try of a source pass when it is due.
   *
   * @param source An address.
   * @throws {ProtocolError} If too many of that source wait already.
   */
  async pass(source: string): Promise<void> {
    const suspect = this.#suspects.get(source);
    if (!suspect || suspect.failures < FREE_FAILURES) return;
    if (performance.now() - suspect.lastFailure > FORGET_MS) {
      this.#suspects.delete(source);
      return;
    }
    if (suspect.waiting >= MAX_WAITING) {
      throw new ProtocolError(
        ErrorCode.serverError,
        "too many wrong tokens from this address: try again later",
        {
          type: "throttled",
        },
      );
    }
    suspect.waiting++;
    const turn = suspect.turn.then(() => sleep(pauseOf(suspect), undefined, { ref: false }));
    suspect.turn = turn;
    await turn;
    suspect.waiting--;
  }

  /** Notes a wrong token. */
  fail(source: string): void {
    const suspect = this.#suspects.get(source) ?? {
      failures: 0,
      lastFailure: 0,
      waiting: 0,
      turn: Promise.resolve(),
    };
    suspect.failures++;
    suspect.lastFailure = performance.now();
    this.#suspects.delete(source);
    this.#suspects.set(source, suspect);
    const [oldest] = this.#suspects.keys();
    if (this.#suspects.size > MAX_SOURCES) this.#suspects.delete(oldest!);
  }
}

function pauseOf({ failures }: Suspect): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.max(failures - FREE_FAILURES, 0), LONGEST_PAUSE_MS);
}
