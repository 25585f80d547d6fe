import { structuredPatch } from "diff";

/** Lines of context around a change. */
const CONTEXT = 3;
const NO_NEWLINE = "\\ No newline at end of file";

/**
 * The hunks of a unified diff, each line ended by a newline; empty if the texts are equal.
 *
 * @param before The old text.
 * @param after The new text.
 * @param timeoutMs How long to look for a small diff. After that everything between what the texts begin and end with in
 *   common is replaced, which is as true.
 */
export function unifiedHunks(before: string, after: string, timeoutMs: number): string {
  if (before === after) return "";
  if (before === "" || after === "") return wholeFile(before, after);
  const patch = structuredPatch("", "", before, after, undefined, undefined, {
    context: CONTEXT,
    timeout: Math.max(1, timeoutMs),
  });
  if (!patch) return replacement(splitLines(before), splitLines(after));
  return patch.hunks
    .map(({ oldStart, oldLines, newStart, newLines, lines }) =>
      hunk({ start: oldStart, count: oldLines }, { start: newStart, count: newLines }, lines),
    )
    .join("");
}

interface Range {
  /** The first line, from 1. */
  readonly start: number;
  readonly count: number;
}

function hunk(before: Range, after: Range, lines: readonly string[]): string {
  return `@@ -${range(before)} +${range(after)} @@\n${lines.join("\n")}\n`;
}

/** An empty range stands behind a line; a single line needs no count. */
function range({ start, count }: Range): string {
  if (count === 1) return String(start);
  return `${String(count === 0 ? start - 1 : start)},${String(count)}`;
}

function splitLines(text: string): string[] {
  const lines = text.split("\n");
  const last = lines.pop()!;
  const whole = lines.map((line) => `${line}\n`);
  return last === "" ? whole : [...whole, last];
}

/** Every line of one side, none of the other. */
function wholeFile(before: string, after: string): string {
  const [removed, added] = [allMarked("-", before), allMarked("+", after)];
  const ranges = `-${range({ start: 1, count: removed.count })} +${range({ start: 1, count: added.count })}`;
  return `@@ ${ranges} @@\n${removed.text}${added.text}`;
}

function allMarked(mark: string, text: string): { readonly text: string; readonly count: number } {
  if (text === "") return { text, count: 0 };
  const isEnded = text.endsWith("\n");
  const lines = (isEnded ? text.slice(0, -1) : text).split("\n");
  const marked = mark + lines.join(`\n${mark}`);
  return { text: `${marked}\n${isEnded ? "" : `${NO_NEWLINE}\n`}`, count: lines.length };
}

function replacement(before: readonly string[], after: readonly string[]): string {
  const shortest = Math.min(before.length, after.length);
  let head = 0;
  while (head < shortest && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shortest - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const from = Math.max(0, head - CONTEXT);
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail];
  const behind = Math.min(CONTEXT, tail);
  return hunk(
    { start: from + 1, count: oldEnd + behind - from },
    { start: from + 1, count: newEnd + behind - from },
    [
      ...before.slice(from, head).flatMap((line) => marked(" ", line)),
      ...before.slice(head, oldEnd).flatMap((line) => marked("-", line)),
      ...after.slice(head, newEnd).flatMap((line) => marked("+", line)),
      ...before.slice(oldEnd, oldEnd + behind).flatMap((line) => marked(" ", line)),
    ],
  );
}

function marked(mark: string, line: string): string[] {
  return line.endsWith("\n") ? [mark + line.slice(0, -1)] : [mark + line, NO_NEWLINE];
}
