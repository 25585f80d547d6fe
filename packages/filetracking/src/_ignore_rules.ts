import type { Ignore } from "ignore";
import ignore from "ignore";
import type { ByteString } from "./_names.ts";
import { joinPath } from "./_names.ts";

/** A byte that is no ASCII, and the character that stands for it in a pattern: letters have no other case there. */
const HIGH_BYTE = /[\x80-\xff]/g;
const HIGH_BYTE_BASE = 0xf000;
const BYTE_ORDER_MARK = "\xef\xbb\xbf";
const GLOB_CHARACTER = /[*?[\\]/g;

/**
 * The rules of a tree's `.gitignore` files, as git applies them: the last pattern that matches decides, those of inner
 * folders come after those of outer ones, and nothing below an ignored folder is looked at.
 *
 * They are learned once. A `.gitignore` that is changed later changes nothing.
 */
export class IgnoreRules {
  readonly #files = new Map<ByteString, string>();
  #matchers = new Map<ByteString, Ignore | undefined>();

  /**
   * Takes the content of one `.gitignore`.
   *
   * @param folder Where it stands.
   */
  learn(folder: ByteString, content: Buffer): void {
    this.#files.set(folder, content.toString("latin1"));
    this.#matchers.clear();
  }

  /** Whether the other rules come from the same files. */
  equals(other: IgnoreRules): boolean {
    if (this.#files.size !== other.#files.size) return false;
    return [...this.#files].every(([folder, content]) => other.#files.get(folder) === content);
  }

  /** Drops what was computed for single names. */
  forget(): void {
    this.#matchers = new Map();
  }

  /** Whether a name is ignored, in a folder that is not. */
  ignores(folder: ByteString, name: ByteString, isFolder: boolean): boolean {
    const matcher = this.#matcherOf(folder);
    if (!matcher) return false;
    return matcher.test(readable(joinPath(folder, name)) + (isFolder ? "/" : "")).ignored;
  }

  /** The patterns of a folder and of those around it, in git's order. */
  #matcherOf(folder: ByteString): Ignore | undefined {
    if (this.#files.size === 0) return undefined;
    if (this.#matchers.has(folder)) return this.#matchers.get(folder);
    const outer = folder === "" ? undefined : this.#matcherOf(parentOf(folder));
    const content = this.#files.get(folder);
    const patterns = content === undefined ? [] : patternsOf(content, folder);
    let matcher = outer;
    if (patterns.length > 0) {
      matcher = ignore({ ignorecase: false, allowRelativePaths: true });
      if (outer) matcher.add(outer);
      matcher.add(patterns.map((pattern) => ({ pattern })));
    }
    this.#matchers.set(folder, matcher);
    return matcher;
  }
}

function parentOf(folder: ByteString): ByteString {
  return folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
}

function readable(text: ByteString): string {
  return text.replaceAll(HIGH_BYTE, (byte) => String.fromCharCode(HIGH_BYTE_BASE + byte.charCodeAt(0)));
}

/** The patterns of a file, said as if they stood in the root's. */
function patternsOf(content: string, folder: ByteString): string[] {
  const text = content.startsWith(BYTE_ORDER_MARK) ? content.slice(BYTE_ORDER_MARK.length) : content;
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  return lines.flatMap((line) => fromRoot(trimSpaces(readable(line)), readable(folder)) ?? []);
}

/** Git drops spaces at the end of a line, unless a backslash stands before the last one. */
function trimSpaces(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === " ") end--;
  if (end === line.length) return line;
  let backslashes = 0;
  while (line[end - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1 ? line.slice(0, end + 1) : line.slice(0, end);
}

/** One pattern, as it reads in the root's file; undefined if it matches nothing. */
function fromRoot(line: string, folder: string): string | undefined {
  if (line === "" || line.startsWith("#")) return undefined;
  const negation = line.startsWith("!") ? "!" : "";
  // A carriage return at the end of a pattern is part of it; only one at the end of a line is not.
  const body = line.slice(negation.length).replace(/\r$/, "[\r]");
  if (/^\/*$/.test(body)) return undefined;
  if (folder === "") return negation + body;
  const place = `/${folder.replaceAll(GLOB_CHARACTER, "\\$&")}`;
  const anchored = body.slice(0, -1).includes("/");
  if (!anchored) return `${negation}${place}/**/${body}`;
  return `${negation}${place}${body.startsWith("/") ? "" : "/"}${body}`;
}
