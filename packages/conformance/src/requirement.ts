/** Who a rule binds. */
export type Side = "server" | "client";

/**
 * Where a rule comes from: `base` is what the Python peer does, `strict` is where the seed wants what the peer lacks,
 * `more` is an addition that a peer does not notice.
 */
export type Source = "base" | "strict" | "more";

/** What is claimed: `base` holds what is marked `base`, `strict` the whole contract. */
export type Profile = "base" | "strict";

/** One rule of the contract. */
export interface Rule {
  /** Stable: `"SESS-6"`. */
  readonly id: string;
  readonly source: Source;
  readonly sides: readonly Side[];
  /** What it asks for, in a sentence. */
  readonly sentence: string;
  /** What of it a bench on the wire does not see, and why. */
  readonly unseen?: string;
}

/** A scenario as it is listed. */
export interface ScenarioInfo {
  readonly side: Side;
  /** A sentence that holds of a conforming implementation. */
  readonly name: string;
  /** That of its rule, where only a part of the rule is stricter or an addition. */
  readonly source: Source;
}

/** A rule and what is tried to see whether it holds. */
export interface Requirement extends Rule {
  readonly scenarios: readonly ScenarioInfo[];
}
