import type { Change } from "./_changes.ts";
import { gitPatch } from "./_git_patch.ts";
import { quoteName, toText } from "./_names.ts";
import type { ByteString } from "./_names.ts";
import type { FileNode } from "./_nodes.ts";
import { PathSet } from "./_path_set.ts";
import { holdsSecret } from "./_secret_content.ts";
import type { FileModes, FilePatch } from "./file_diff.ts";
import type { FileTrackingLimits } from "./file_tracking_limits.ts";

/** What goes into one reply, and what has to wait. */
export interface DiffParts {
  readonly patches: FilePatch[];
  readonly reported: Change[];
  readonly left: Change[];
}

/** How long to look for a small diff: of one file, and of all in one reply. */
const FILE_MS = 200;
const TOTAL_MS = 3000;
/** So many patches that do not fit are enough to take a reply for full: the files that follow are larger still. */
const MAX_MISFITS = 20;
/** What an entry takes besides its patch and path, as JSON. */
const ENTRY_BYTES = 512;

/**
 * Describes changes, small files first, as far as the limits of a reply reach. A change whose content is still unread
 * waits for a later scan.
 *
 * Where a folder comes in the place of a file, or a file in the place of a folder, what goes is told of before what comes:
 * the receiver's tree cannot hold both.
 */
export function makeDiff(changes: readonly Change[], limits: FileTrackingLimits): DiffParts {
  const parts: DiffParts = { patches: [], reported: [], left: [] };
  const deadline = performance.now() + TOTAL_MS;
  let bytes = 0;
  let replyBytes = 0;
  let misfits = 0;
  const remaining = new PathSet();
  const leave = (change: Change): void => {
    parts.left.push(change);
    if (!change.after) remaining.add(change.path);
  };
  for (const change of inOrder(changes)) {
    const isBlocked = !change.before && remaining.excludes(change.path);
    if (change.after?.state === "unread" || misfits === MAX_MISFITS || isBlocked) {
      leave(change);
      continue;
    }
    let patch = describe(change, limits, Math.min(FILE_MS, deadline - performance.now()));
    let [patchBytes, entryBytes] = sizesOf(patch);
    if (patchBytes > limits.diffBytes || entryBytes > limits.replyBytes) {
      // It would wait for ever.
      patch = { ...patch, patch: tooLarge(change) };
      [patchBytes, entryBytes] = sizesOf(patch);
    }
    if (bytes + patchBytes > limits.diffBytes || replyBytes + entryBytes > limits.replyBytes) {
      misfits++;
      leave(change);
      continue;
    }
    bytes += patchBytes;
    replyBytes += entryBytes;
    parts.patches.push(patch);
    parts.reported.push(change);
  }
  return parts;
}

/** What makes room for others first, then small files. */
function inOrder(changes: readonly Change[]): Change[] {
  const added = new PathSet(changes.filter(({ before }) => !before).map(({ path }) => path));
  const makesRoom = new Set(changes.filter(({ path, after }) => !after && added.excludes(path)));
  return changes.toSorted(
    (a, b) => Number(makesRoom.has(b)) - Number(makesRoom.has(a)) || sizeOf(a) - sizeOf(b),
  );
}

/** The bytes of a patch, and of its whole entry as JSON. */
function sizesOf({ patch, path }: FilePatch): [number, number] {
  return [Buffer.byteLength(patch), Buffer.byteLength(JSON.stringify(patch)) + 6 * path.length + ENTRY_BYTES];
}

function sizeOf({ before, after }: Change): number {
  return Math.max(before?.size ?? 0, after?.size ?? 0);
}

function describe(change: Change, limits: FileTrackingLimits, timeoutMs: number): FilePatch {
  const { path, before, after } = change;
  const mode = modesOf(before, after);
  return {
    path: toText(path),
    status: before ? (after ? "modified" : "deleted") : "added",
    patch: patchOf(change, limits, timeoutMs),
    size_before: before?.size ?? 0,
    size_after: after?.size ?? 0,
    content_hash_before: before?.hash ?? null,
    content_hash_after: after?.hash ?? null,
    ...(mode && { mode }),
  };
}

function modesOf(before: FileNode | undefined, after: FileNode | undefined): FileModes | undefined {
  const isPlain = (node: FileNode | undefined): boolean => node === undefined || node.gitMode === "100644";
  const same = !before || !after || before.octalMode === after.octalMode;
  if (same && isPlain(before) && isPlain(after)) return undefined;
  return { before: before?.octalMode ?? null, after: after?.octalMode ?? null };
}

/** A patch, or one sentence that stands in for it. */
function patchOf(change: Change, limits: FileTrackingLimits, timeoutMs: number): string {
  const { path, before, after } = change;
  const sides = [before, after].filter((node) => node !== undefined);
  const say = (sentence: string): string => standIn(sentence, path);
  if (sides.some((node) => node.state === "secret")) return say("Secret file changed (content redacted)");
  if (sides.some((node) => node.state === "unreadable")) return say("File not readable");
  if (sides.some((node) => node.size > limits.diffFileBytes)) {
    return tooLarge(change);
  }
  if (before && after && before.hash !== undefined && before.hash === after.hash) {
    return gitPatch(path, modeOnly(before), modeOnly(after), timeoutMs);
  }
  if (sides.some((node) => node.content === undefined))
    return say("File not diffed as its content was not kept");
  if (sides.some((node) => holdsSecret(node.content!)))
    return say("File with a secret changed (content redacted)");
  return gitPatch(path, side(before), side(after), timeoutMs);
}

function tooLarge({ path, before, after }: Change): string {
  const sizes = `${String(before?.size ?? 0)} -> ${String(after?.size ?? 0)} bytes`;
  return standIn(`File too large to diff (${sizes})`, path);
}

function standIn(sentence: string, path: ByteString): string {
  return `${sentence}: ${quoteName(path)}\n`;
}

function side(node: FileNode | undefined): { mode: string; content: Buffer } | undefined {
  return node && { mode: node.gitMode, content: node.content! };
}

/** Where both sides have the same content, none is needed. */
function modeOnly(node: FileNode): { mode: string; content: Buffer } {
  return { mode: node.gitMode, content: Buffer.alloc(0) };
}
