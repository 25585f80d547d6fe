import { hash } from "node:crypto";
import { lstatSync, readlinkSync } from "node:fs";
import type { Dirent, Stats } from "node:fs";
import type { ByteString } from "./_names.ts";
import { toFsPath } from "./_names.ts";
import { FileNode, FolderNode } from "./_nodes.ts";
import type { EntryKind } from "./_nodes.ts";
import { isExhausted, isGone } from "./_open_folder.ts";

/** What a look at a folder that has the same names has shown. */
export interface Look {
  readonly folders: ByteString[];
  /** Files that do not seem to be what they were. */
  readonly touched: ByteString[];
}

/** A folder that is being listed. */
export class Listing {
  readonly entries: Map<ByteString, FileNode | FolderNode>;
  readonly skipped: Map<ByteString, EntryKind>;
  readonly changed: [name: ByteString, node: FileNode, before: FileNode | undefined][] = [];
  readonly unread: [ByteString, FileNode][] = [];
  cut = false;

  constructor(known?: FolderNode) {
    this.entries = new Map(known?.entries);
    this.skipped = new Map(known?.skipped);
  }
}

/** What is known of a folder that cannot be listed: nothing if it is gone, else what it was. */
export function unlisted(error: unknown, known: FolderNode | undefined): FolderNode | undefined {
  if (isExhausted(error)) throw error;
  if (isGone(error)) return undefined;
  return known?.cut ? known : new FolderNode(known?.entries, known?.skipped, true);
}

/** What a name stands for, as its listing says. */
export function kindOf(entry: Dirent): EntryKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return entry.isSymbolicLink() ? "link" : "special";
}

/** What a name stood for. */
export function kindOfNode(known: FileNode | FolderNode | EntryKind | undefined): EntryKind | undefined {
  if (known instanceof FileNode) return known.isLink ? "link" : "file";
  return known instanceof FolderNode ? "folder" : known;
}

/** Whether a file seems to be what it was. */
export function isUnchanged(node: FileNode, path: ByteString): boolean {
  const stats = lstatSync(toFsPath(path), { throwIfNoEntry: false });
  return stats !== undefined && !node.racy && node.isAt(stats);
}

/** Whether the content of a file is still to be had: each scan tries again. */
export function isWanting({ state }: FileNode): boolean {
  return state === "unread" || state === "unreadable";
}

/**
 * What a regular file keeps when it is moved, and no other file gets after it. Undefined where the file system does not
 * know when a file was made, as its number alone is used again.
 */
export function identityOf(stats: Stats): string | undefined {
  if (!stats.isFile() || stats.birthtimeMs === 0) return undefined;
  return `${String(stats.dev)}:${String(stats.ino)}:${String(stats.birthtimeMs)}`;
}

/** Takes in where a link leads to, as it is written. */
export function readLink(node: FileNode, path: ByteString): void {
  try {
    node.content = Buffer.from(readlinkSync(toFsPath(path), "latin1"), "latin1");
    node.hash = hash("sha256", node.content);
    node.state = "read";
  } catch {
    node.state = "unreadable";
  }
}
