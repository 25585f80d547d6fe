import type { ByteString } from "./_names.ts";
import { isBusy, isExhausted, isGone, OpenFolder } from "./_open_folder.ts";
import type { FileNode } from "./_nodes.ts";
import type { Content, Refusal } from "./_read_content.ts";
import { readContent } from "./_read_content.ts";
import { RULES_FILE } from "./_scan.ts";
import type { PendingFile } from "./_scan.ts";
import type { FileTrackingLimits } from "./file_tracking_limits.ts";

/** What a scan may still read and keep. */
export interface ReadOptions {
  readonly root: ByteString;
  readonly limits: FileTrackingLimits;
  /** Bytes of content that are kept already. */
  held: number;
}

/**
 * Reads the content of files: one group after the other, as far as the budget of a scan reaches, and within a group that
 * does not fit into it small files first. The others stay `unread`.
 *
 * @returns The bytes that were read.
 */
export function readPending(groups: readonly (readonly PendingFile[])[], options: ReadOptions): number {
  const cursor = new FolderCursor(options.root);
  let budget = options.limits.scanBytes;
  try {
    for (const files of groups) {
      for (const file of affordable(files, budget)) budget -= readInto(file, cursor, options, budget);
    }
  } finally {
    cursor.close();
  }
  return options.limits.scanBytes - budget;
}

/** Those of the files that fit into a budget, smallest first, but in the order of the walk. */
function affordable(files: readonly PendingFile[], budget: number): readonly PendingFile[] {
  const total = files.reduce((sum, { node }) => sum + node.size, 0);
  if (total <= budget) return files;
  const bySize = files.toSorted((a, b) => a.node.size - b.node.size);
  const chosen = new Set<PendingFile>();
  let left = budget;
  for (const file of bySize) {
    if (file.node.size > left) break;
    left -= file.node.size;
    chosen.add(file);
  }
  return files.filter((file) => chosen.has(file));
}

/** @returns The bytes that were read. */
function readInto(file: PendingFile, cursor: FolderCursor, options: ReadOptions, budget: number): number {
  const { fileBytes, diffFileBytes, heldBytes } = options.limits;
  try {
    const room = file.name === RULES_FILE ? diffFileBytes : heldBytes - options.held;
    const keep = Math.max(0, Math.min(diffFileBytes, room));
    // A file that has grown since it was listed may cost more than there is.
    const content = readContent(cursor.at(file.path).open() + file.name, Math.min(fileBytes, budget), keep);
    if ("refused" in content) return refuse(file, content, fileBytes);
    const certain = !content.racy || file.stage !== "settled";
    if (file.stage !== "fresh" && !(certain && file.node.isAt(content.stats))) return content.stats.size;
    take(file.node, content);
    options.held += content.bytes?.length ?? 0;
    return content.stats.size;
  } catch (error) {
    if (isExhausted(error)) throw error;
    if (isGone(error)) takeOut(file);
    // Who holds a lease on a file makes it wait, and gets it told of as pending.
    else if (file.stage === "fresh" && !isBusy(error)) file.node.state = "unreadable";
    return 0;
  }
}

function take(node: FileNode, { stats, hash, bytes, racy }: Content): void {
  node.describe(stats);
  node.hash = hash;
  node.content = bytes;
  node.racy = racy;
  node.state = "read";
}

function refuse(file: PendingFile, refusal: Refusal, fileBytes: number): number {
  if (refusal.refused === "gone") takeOut(file);
  else if (file.stage === "fresh" && refusal.stats.size > fileBytes) {
    file.node.describe(refusal.stats);
    file.node.state = "large";
  }
  return 0;
}

/** The next scan finds what is there instead. */
function takeOut({ folder, name, stage }: PendingFile): void {
  if (stage === "fresh") folder.entries.delete(name);
}

/** Opens one folder after the other, and keeps those open that the next one has in common with the last. */
export class FolderCursor {
  readonly #open: { readonly name: ByteString; readonly folder: OpenFolder }[];

  constructor(root: ByteString) {
    this.#open = [{ name: "", folder: OpenFolder.root(root) }];
  }

  /** @param path From the root, whose own is empty. */
  at(path: ByteString): OpenFolder {
    const names = path === "" ? [] : path.split("/");
    let common = 0;
    while (common < names.length && this.#open[common + 1]?.name === names[common]) common++;
    this.#closeFrom(common + 1);
    for (const name of names.slice(common)) {
      this.#open.push({ name, folder: this.#open.at(-1)!.folder.child(name) });
    }
    return this.#open.at(-1)!.folder;
  }

  close(): void {
    this.#closeFrom(0);
  }

  #closeFrom(index: number): void {
    for (const { folder } of this.#open.splice(index).reverse()) folder.close();
  }
}
