import type { Source } from "./requirement.ts";

/** Something that is tried to see whether a rule holds. */
export interface Scenario<Stage> {
  /** The rule: `"SESS-6"`. */
  readonly rule: string;
  /** A sentence that holds of a conforming implementation. */
  readonly name: string;
  /**
   * Where this part of the rule comes from.
   *
   * @default that of the rule
   */
  readonly source?: Source;
  /** Whether it needs a server on which nothing is parked and nothing else is tried at the same time. */
  readonly alone?: boolean;
  /** Tasks and bindings of the fixture that it uses. */
  readonly needs?: readonly string[];
  /**
   * Tries it.
   *
   * @throws {Mismatch} What is wrong.
   * @throws {NotClaimed} Why it cannot be tried here.
   */
  run(this: void, stage: Stage): Promise<void>;
}
