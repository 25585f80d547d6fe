import { isUtf8 } from "node:buffer";

/**
 * Names of files are bytes. Inside the tracker they are byte strings: every character is one byte, U+0000 to U+00FF, so
 * that no name is changed and no two names become one.
 */
export type ByteString = string;

const ASCII = /^[\x00-\x7f]*$/;
const SPECIAL = /[\x00-\x1f"\\\x7f]/;
/** Blanks that git does not find again in a line of two names. */
const EDGE_BLANK = /^ | $|\/ | \//;
const ESCAPES = new Map([
  [7, "a"],
  [8, "b"],
  [9, "t"],
  [10, "n"],
  [11, "v"],
  [12, "f"],
  [13, "r"],
  [34, '"'],
  [92, "\\"],
]);

/** A byte string as the file system functions take it. */
export function toFsPath(path: ByteString): string | Buffer {
  return ASCII.test(path) ? path : Buffer.from(path, "latin1");
}

/** A path of this program as a byte string. */
export function fromFsPath(path: string): ByteString {
  return ASCII.test(path) ? path : Buffer.from(path).toString("latin1");
}

/** The name within a folder; the root's own path is empty. */
export function joinPath(folder: ByteString, name: ByteString): ByteString {
  return folder === "" ? name : `${folder}/${name}`;
}

/**
 * The name as text. What is no UTF-8 becomes lone surrogates, one for each byte, as Python's `surrogateescape` has it:
 * nothing is lost, and JSON can say it.
 */
export function toText(name: ByteString): string {
  if (ASCII.test(name)) return name;
  const bytes = Buffer.from(name, "latin1");
  if (isUtf8(bytes)) return bytes.toString();
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes[at]!);
    const sequence = bytes.subarray(at, at + length);
    const valid = isUtf8(sequence) && sequence.length === length;
    text += valid ? sequence.toString() : String.fromCharCode(0xdc00 + bytes[at]!);
    at += valid ? length : 1;
  }
  return text;
}

/** The opposite of {@linkcode toText}. */
export function fromText(text: string): ByteString {
  let bytes = "";
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if (code >= 0xdc80 && code <= 0xdcff) bytes += String.fromCharCode(code - 0xdc00);
    else bytes += code < 0x80 ? character : Buffer.from(character).toString("latin1");
  }
  return bytes;
}

/**
 * The name as git writes it in a patch: in quotes, with C escapes, where it would be misread otherwise. A line break in a
 * name cannot forge a line of the patch.
 */
export function quoteName(name: ByteString): string {
  const readable = ASCII.test(name) || isUtf8(Buffer.from(name, "latin1"));
  if (readable && !SPECIAL.test(name) && !EDGE_BLANK.test(name)) return toText(name);
  let quoted = "";
  for (const character of name) {
    const byte = character.charCodeAt(0);
    const letter = ESCAPES.get(byte);
    if (letter !== undefined) quoted += `\\${letter}`;
    else if (byte < 0x20 || byte > 0x7e) quoted += `\\${byte.toString(8).padStart(3, "0")}`;
    else quoted += character;
  }
  return `"${quoted}"`;
}

function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
