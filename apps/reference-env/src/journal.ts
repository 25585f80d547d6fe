/** Something that an agent did, for the report. */
export interface JournalStep {
  readonly kind: "step";
  /** Since the start of the episode, in milliseconds. */
  readonly at: number;
  readonly ms: number;
  /** What was done: `list_tickets({})`, `$ npm test`. */
  readonly what: string;
  /** What came of it; cut if it is long. */
  readonly outcome: string;
  readonly failed: boolean;
}

/** A picture that an agent saw, or one of what it did. */
export interface JournalPicture {
  readonly kind: "picture";
  readonly at: number;
  readonly caption: string;
  /** `image/png`, `image/jpeg`, `image/webp`, `image/gif`. */
  readonly mediaType: string;
  readonly data: Buffer;
}

/** An entry of a journal. */
export type JournalEntry = JournalStep | JournalPicture;

/** So many characters of an outcome are kept. */
const OUTCOME_LENGTH = 2_000;

/** What happens in one episode, step by step. */
export class Journal {
  readonly entries: JournalEntry[] = [];
  readonly #start = performance.now();

  /** Milliseconds since the start of the episode. */
  get elapsed(): number {
    return Math.round(performance.now() - this.#start);
  }

  /**
   * Does something and notes it, also if it fails.
   *
   * @param what What is done, in one line.
   * @param act Does it.
   * @param describe What came of it.
   */
  async step<T>(what: string, act: () => Promise<T>, describe: (result: T) => string): Promise<T> {
    const at = this.elapsed;
    const note = (outcome: string, failed: boolean): void => {
      const cut = outcome.length > OUTCOME_LENGTH ? `${outcome.slice(0, OUTCOME_LENGTH)} …` : outcome;
      this.entries.push({ kind: "step", at, ms: this.elapsed - at, what, outcome: cut, failed });
    };
    try {
      const result = await act();
      note(describe(result), false);
      return result;
    } catch (error) {
      note(error instanceof Error ? error.message : String(error), true);
      throw error;
    }
  }

  /** Notes a picture. */
  picture(caption: string, data: Buffer, mediaType = "image/png"): void {
    this.entries.push({ kind: "picture", at: this.elapsed, caption, mediaType, data });
  }
}
