import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import type { Dirent, Stats } from "node:fs";
import { hash } from "node:crypto";
import type { IgnoreRules } from "./_ignore_rules.ts";
import type { NameRules } from "./_name_rules.ts";
import type { ByteString } from "./_names.ts";
import { joinPath, toFsPath } from "./_names.ts";
import { FileNode, FolderNode } from "./_nodes.ts";
import type { EntryKind } from "./_nodes.ts";
import { isExhausted, isGone, OpenFolder } from "./_open_folder.ts";
import { readContent } from "./_read_content.ts";
import type { FileTrackingLimits } from "./file_tracking_limits.ts";

/** What a scan goes by. */
export interface ScanRules {
  readonly root: ByteString;
  readonly names: NameRules;
  readonly ignored: IgnoreRules;
  /** Whether `.gitignore` files of folders that are new are taken in. */
  readonly learn: boolean;
  readonly limits: FileTrackingLimits;
}

/**
 * Who knows of a file whose content is still to be read.
 *
 * | stage | meaning |
 * | --- | --- |
 * | `fresh` | only this scan: whatever is read is right |
 * | `pending` | earlier scans, but no report: what is read must be that file |
 * | `settled` | a report or a baseline: what is read must certainly be what they meant |
 */
export type PendingStage = "fresh" | "pending" | "settled";

/** A file whose content is still to be read. */
export interface PendingFile {
  /** The path of the folder that it is in. */
  readonly path: ByteString;
  readonly name: ByteString;
  readonly node: FileNode;
  /** Where it is taken out of again if it is gone by then. */
  readonly folder: FolderNode;
  readonly stage: PendingStage;
  /** What stands there if nothing has happened since a moment in which times do not tell. */
  readonly before?: FileNode | undefined;
}

/** A folder on the way of a scan. */
interface Place {
  /** By descriptor: what is taken over into the result comes from here. */
  readonly at: OpenFolder;
  /** By path: good enough to see that nothing has changed. */
  readonly look: ByteString;
  /** From the root; that of the root is empty. */
  readonly path: ByteString;
  readonly secret: boolean;
  readonly depth: number;
}

const LISTING = { encoding: "latin1", withFileTypes: true } as const;
const QUIET = { throwIfNoEntry: false } as const;
/** Kept whatever it takes: the next baseline goes by it. */
export const RULES_FILE = ".gitignore";
const MAX_RULES_BYTES = 1024 * 1024;

/**
 * Lists a tree: one `lstat` a file, no content.
 *
 * A folder that is known is looked at by its path, which is fast and which a link in the wrong moment may lead astray. All
 * that comes of this look is "just as it was" or not; where it is not, the folder is listed by descriptors, and only that
 * is believed.
 */
export class Scan {
  /** Files that are new or changed. */
  readonly changed: PendingFile[] = [];
  /** Files that are unchanged as far as their times tell, which they may not. */
  readonly doubtful: PendingFile[] = [];
  /** Unchanged files that a limit has left unread so far. */
  readonly unread: PendingFile[] = [];
  readonly #rules: ScanRules;
  #files = 0;

  constructor(rules: ScanRules) {
    this.#rules = rules;
  }

  /**
   * @param known What the tree was like.
   * @returns What it is like now; the same nodes where nothing has changed.
   * @throws {Error} If the root is no folder (`ENOTDIR`, `ELOOP`), or descriptors have run out. A root that is gone is
   *   empty.
   */
  run(known?: FolderNode): FolderNode {
    const { root } = this.#rules;
    const at = OpenFolder.root(root);
    try {
      at.open();
      return this.#folder({ at, look: root, path: "", secret: false, depth: 0 }, known) ?? new FolderNode();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return new FolderNode();
      throw error;
    } finally {
      at.close();
    }
  }

  #folder(place: Place, known: FolderNode | undefined): FolderNode | undefined {
    if (known && !known.cut) {
      const folders = this.#isAsKnown(place, known);
      if (folders) return this.#inside(place, known, folders);
    }
    return this.#list(place, known);
  }

  /** Whether names and files of a folder are just as they were; its folders, if so. */
  #isAsKnown(place: Place, known: FolderNode): ByteString[] | undefined {
    const unread: PendingFile[] = [];
    const folders: ByteString[] = [];
    try {
      const entries = readdirSync(toFsPath(place.look), LISTING);
      if (entries.length !== known.entries.size + known.skipped.size) return undefined;
      for (const entry of entries) {
        const { name } = entry;
        const node = known.entries.get(name);
        if (!isSame(entry, node ?? known.skipped.get(name), place.look)) return undefined;
        if (node instanceof FolderNode) folders.push(name);
        else if (node?.state === "unread")
          unread.push({ path: place.path, name, node, folder: known, stage: "settled" });
      }
    } catch {
      return undefined;
    }
    this.unread.push(...unread);
    this.#files += known.entries.size - folders.length;
    return folders;
  }

  /** Goes on in the folders of a folder that is as it was. */
  #inside(place: Place, known: FolderNode, folders: readonly ByteString[]): FolderNode {
    let entries: Map<ByteString, FileNode | FolderNode> | undefined;
    for (const name of folders) {
      const before = known.entries.get(name) as FolderNode;
      const after = this.#child(place, name, before);
      if (after === before) continue;
      entries ??= new Map(known.entries);
      if (after) entries.set(name, after);
      else entries.delete(name);
    }
    return entries ? new FolderNode(entries, known.skipped) : known;
  }

  #child(place: Place, name: ByteString, known: FolderNode | undefined): FolderNode | undefined {
    const at = place.at.child(name);
    try {
      return this.#folder(
        {
          at,
          look: `${place.look}/${name}`,
          path: joinPath(place.path, name),
          secret: place.secret || this.#rules.names.isSecret(place.path, name, true),
          depth: place.depth + 1,
        },
        known,
      );
    } finally {
      at.close();
    }
  }

  /** Lists a folder by its descriptor. */
  #list(place: Place, known: FolderNode | undefined): FolderNode | undefined {
    let prefix: ByteString;
    let entries: Dirent[];
    try {
      prefix = place.at.open();
      entries = readdirSync(prefix, LISTING);
    } catch (error) {
      if (isExhausted(error)) throw error;
      if (isGone(error)) return undefined;
      return known?.cut ? known : new FolderNode(known?.entries, known?.skipped, true);
    }
    if (this.#rules.learn) this.#learn(place, prefix, entries);
    const listing = new Listing();
    for (const entry of entries) this.#entry(place, prefix, entry, listing, known?.entries.get(entry.name));
    const folder = new FolderNode(listing.entries, listing.skipped, listing.cut);
    for (const [name, node, before] of listing.changed) {
      const files = before ? this.doubtful : this.changed;
      files.push({ path: place.path, name, node, folder, stage: "fresh", before });
    }
    for (const [name, node] of listing.unread)
      this.unread.push({ path: place.path, name, node, folder, stage: "settled" });
    return known && folder.equals(known) ? known : folder;
  }

  #learn({ path }: Place, prefix: ByteString, entries: readonly Dirent[]): void {
    if (!entries.some((entry) => entry.name === RULES_FILE && entry.isFile())) return;
    try {
      const content = readContent(prefix + RULES_FILE, MAX_RULES_BYTES, MAX_RULES_BYTES);
      if ("bytes" in content && content.bytes) this.#rules.ignored.learn(path, content.bytes);
    } catch (error) {
      if (isExhausted(error)) throw error;
    }
  }

  #entry(
    place: Place,
    prefix: ByteString,
    entry: Dirent,
    listing: Listing,
    known: FileNode | FolderNode | undefined,
  ): void {
    const { name } = entry;
    const kind = kindOf(entry);
    const { names, ignored, limits } = this.#rules;
    const isFolder = kind === "folder";
    if (
      kind === "special" ||
      names.excludes(place.path, name, isFolder) ||
      ignored.ignores(place.path, name, isFolder)
    ) {
      listing.skipped.set(name, kind);
    } else if (isFolder ? place.depth >= limits.depth : this.#files >= limits.files) {
      listing.cut = true;
    } else if (isFolder) {
      const folder = this.#child(place, name, known instanceof FolderNode ? known : undefined);
      if (folder) listing.entries.set(name, folder);
    } else {
      this.#file(place, prefix, name, listing, known instanceof FileNode ? known : undefined);
    }
  }

  #file(
    place: Place,
    prefix: ByteString,
    name: ByteString,
    listing: Listing,
    known: FileNode | undefined,
  ): void {
    let stats: Stats | undefined;
    try {
      stats = lstatSync(toFsPath(prefix + name), QUIET);
    } catch {
      listing.cut = true; // a folder that may be listed but not entered
      if (known) listing.entries.set(name, known);
      return;
    }
    if (!stats || !(stats.isFile() || stats.isSymbolicLink())) return;
    this.#files++;
    if (known && !known.racy && known.isAt(stats)) {
      listing.entries.set(name, known);
      if (known.state === "unread") listing.unread.push([name, known]);
      return;
    }
    const secret = place.secret || this.#rules.names.isSecret(place.path, name, false);
    const node = new FileNode(secret ? "secret" : "unread", stats);
    if (!secret && stats.isSymbolicLink()) readLink(node, prefix + name);
    else if (!secret && stats.size > this.#rules.limits.fileBytes) node.state = "large";
    listing.entries.set(name, node);
    if (node.state !== "unread") return;
    const before = known?.isAt(stats) && known.state === "read" ? known : undefined;
    listing.changed.push([name, node, before]);
  }
}

/** A folder that is being listed. */
class Listing {
  readonly entries = new Map<ByteString, FileNode | FolderNode>();
  readonly skipped = new Map<ByteString, EntryKind>();
  readonly changed: [name: ByteString, node: FileNode, before: FileNode | undefined][] = [];
  readonly unread: [ByteString, FileNode][] = [];
  cut = false;
}

/** Whether a name still stands for what it stood for. What is in a folder is not looked at here. */
function isSame(
  entry: Dirent,
  known: FileNode | FolderNode | EntryKind | undefined,
  look: ByteString,
): boolean {
  if (known instanceof FolderNode) return entry.isDirectory();
  if (!(known instanceof FileNode)) return known === kindOf(entry);
  const stats = lstatSync(toFsPath(`${look}/${entry.name}`), QUIET);
  return stats !== undefined && !known.racy && known.isAt(stats);
}

function kindOf(entry: Dirent): EntryKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return entry.isSymbolicLink() ? "link" : "special";
}

function readLink(node: FileNode, path: ByteString): void {
  try {
    node.content = Buffer.from(readlinkSync(toFsPath(path), "latin1"), "latin1");
    node.hash = hash("sha256", node.content);
    node.state = "read";
  } catch {
    node.state = "unreadable";
  }
}
