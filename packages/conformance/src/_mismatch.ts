/** What a failed check says. */
export interface MismatchParts {
  /** What the bench sent or did last. */
  sent: string;
  /** What the contract wants then. */
  expected: string;
  /** What came instead. */
  got: string;
}

/** The other side did something else than the contract says. */
export class Mismatch extends Error {
  override readonly name = "Mismatch";
  readonly parts: MismatchParts;

  /** @param parts What was sent, expected and got. */
  constructor(parts: MismatchParts) {
    const { sent, expected, got } = parts;
    super(`sent ${shorten(sent)}; expected ${shorten(expected)}; got ${shorten(got)}`);
    this.parts = { sent: shorten(sent), expected: shorten(expected), got: shorten(got) };
  }
}

/** A scenario that cannot be tried here; no failure. */
export class NotClaimed extends Error {
  override readonly name = "NotClaimed";
}

const MAX_TEXT = 240;

/**
 * Text of anything, short enough to be read: control characters escaped, the middle of a long one left out.
 *
 * @param text What was sent or came.
 */
export function shorten(text: string): string {
  if (text.length <= MAX_TEXT) return visible(text);
  const half = MAX_TEXT / 2;
  return `${visible(text.slice(0, half))} … ${visible(text.slice(-half))} (${String(text.length)} characters)`;
}

function visible(text: string): string {
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}
