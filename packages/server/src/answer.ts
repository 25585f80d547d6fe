/**
 * What a task that declared `returns` gets from its first `yield` (TASK-4).
 *
 * @typeParam T The declared type.
 */
export interface Answer<T> {
  /** The answer parsed and validated, or `raw` where that fails; the empty string if there was none. */
  content: T | string;
  /** The answer as it was sent; the JSON of one that is no string. */
  raw: string;
}
