import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import type { ByteString } from "./_names.ts";
import { quoteName } from "./_names.ts";
import { unifiedHunks } from "./_unified_hunks.ts";

/** One side of a file, whole. */
export interface PatchSide {
  /** As git knows it: `100644`, `100755` or `120000`. */
  readonly mode: string;
  readonly content: Buffer;
}

const NO_OBJECT = "0".repeat(40);
const LINK = "120000";
const BASE85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/** Bytes in one line of a binary patch. */
const BINARY_LINE = 52;

/**
 * How one file changed, as `git diff --binary` says it and `git apply` takes it. Empty if the two sides are the same to
 * git.
 *
 * @param path The file.
 * @param before Undefined if it was added.
 * @param after Undefined if it was deleted.
 * @param timeoutMs How long to look for a small diff.
 */
export function gitPatch(
  path: ByteString,
  before: PatchSide | undefined,
  after: PatchSide | undefined,
  timeoutMs: number,
): string {
  // Git has no word for a file that becomes a link: one goes, and the other comes.
  if (before && after && (before.mode === LINK) !== (after.mode === LINK)) {
    return gitPatch(path, before, undefined, timeoutMs) + gitPatch(path, undefined, after, timeoutMs);
  }
  const body = bodyOf(path, before, after, timeoutMs);
  const modes = modeLines(before?.mode, after?.mode);
  return body === "" && modes === "" ? "" : patchHead(path) + modes + body;
}

/** The line that the patch of one file begins with. */
export function patchHead(path: ByteString): string {
  return `diff --git ${quoteName(`a/${path}`)} ${quoteName(`b/${path}`)}\n`;
}

/** The lines that say what became of the file itself. */
export function modeLines(before: string | undefined, after: string | undefined): string {
  if (before === undefined) return `new file mode ${after!}\n`;
  if (after === undefined) return `deleted file mode ${before}\n`;
  return before === after ? "" : `old mode ${before}\nnew mode ${after}\n`;
}

/** The two lines in front of the hunks. A name with a blank is ended by a tab, as git does it. */
export function fileLines(path: ByteString, before: boolean, after: boolean): string {
  const name = (side: string, exists: boolean): string => {
    const quoted = exists ? quoteName(`${side}/${path}`) : "/dev/null";
    return quoted.includes(" ") && !quoted.startsWith('"') ? `${quoted}\t` : quoted;
  };
  return `--- ${name("a", before)}\n+++ ${name("b", after)}\n`;
}

/** Whether content goes into a diff as text: UTF-8 without NUL. */
export function isText(content: Buffer): boolean {
  return isUtf8(content) && !content.includes(0);
}

function bodyOf(
  path: ByteString,
  before: PatchSide | undefined,
  after: PatchSide | undefined,
  timeoutMs: number,
): string {
  const [old, now] = [before?.content ?? Buffer.alloc(0), after?.content ?? Buffer.alloc(0)];
  if (old.equals(now)) return "";
  if (isText(old) && isText(now)) {
    const hunks = unifiedHunks(old.toString(), now.toString(), timeoutMs);
    return fileLines(path, before !== undefined, after !== undefined) + hunks;
  }
  return `index ${objectId(before)}..${objectId(after)}\nGIT binary patch\n${literal(now)}\n${literal(old)}\n`;
}

/** What git calls the content. */
function objectId(side: PatchSide | undefined): string {
  if (!side) return NO_OBJECT;
  const { content } = side;
  return createHash("sha1")
    .update(`blob ${String(content.length)}\0`)
    .update(content)
    .digest("hex");
}

/** Whole content in a binary patch: deflated, 52 bytes a line, each with its length in front. */
function literal(content: Buffer): string {
  const packed = deflateSync(content);
  let text = `literal ${String(content.length)}\n`;
  for (let at = 0; at < packed.length; at += BINARY_LINE) {
    const line = packed.subarray(at, at + BINARY_LINE);
    const length = line.length <= 26 ? 64 + line.length : 96 + line.length - 26;
    text += `${String.fromCharCode(length)}${base85(line)}\n`;
  }
  return text;
}

function base85(line: Buffer): string {
  let text = "";
  for (let at = 0; at < line.length; at += 4) {
    let word = 0;
    for (let index = 0; index < 4; index++) word = word * 256 + (line[at + index] ?? 0);
    let group = "";
    for (let digit = 0; digit < 5; digit++) {
      group = BASE85[word % 85]! + group;
      word = Math.floor(word / 85);
    }
    text += group;
  }
  return text;
}
