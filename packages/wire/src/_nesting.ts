const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** So many bytes of a string are looked at one by one before native code searches its end. */
const SHORT_STRING = 64;

/**
 * Whether arrays and objects are nested deeper than a limit, in one pass over the bytes. Of bytes that are no JSON the
 * answer may be either.
 *
 * @param bytes JSON in UTF-8.
 * @param limit The deepest allowed nesting; `[]` is 1 deep.
 */
export function isNestedTooDeep(bytes: Buffer, limit: number): boolean {
  if (bytes.length <= limit) return false;
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE) i = endOfString(bytes, i);
    else if (byte < OPEN_BRACKET) continue;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > limit) return true;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
  return false;
}

/** The index of the quote that ends the string which begins at `start`, or at least the length if there is none. */
function endOfString(bytes: Buffer, start: number): number {
  for (let i = start + 1; ; i++) {
    for (const near = Math.min(bytes.length, i + SHORT_STRING); i < near; i++) {
      const byte = bytes[i];
      if (byte === QUOTE) return i;
      if (byte === BACKSLASH) i++;
    }
    const quote = bytes.indexOf(QUOTE, i);
    if (quote < 0) return bytes.length;
    let backslashes = 0;
    while (quote - backslashes > i && bytes[quote - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
    i = quote;
  }
}
