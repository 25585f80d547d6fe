import { lstatSync, readdirSync } from "node:fs";
import type { Dirent, Stats } from "node:fs";
import type { IgnoreRules } from "./_ignore_rules.ts";
import {
  identityOf,
  isUnchanged,
  isWanting,
  kindOf,
  kindOfNode,
  Listing,
  readLink,
  unlisted,
} from "./_listing.ts";
import type { Look } from "./_listing.ts";
import type { NameRules } from "./_name_rules.ts";
import type { ByteString } from "./_names.ts";
import { joinPath, toFsPath } from "./_names.ts";
import { FileNode, FolderNode } from "./_nodes.ts";
import { isExhausted, OpenFolder } from "./_open_folder.ts";
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
  /** Every secret file seen so far, under whatever name: see {@linkcode identityOf}. */
  readonly secretFiles: Set<string>;
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
    const look = known && !known.cut ? this.#look(place, known) : undefined;
    return known && look ? this.#update(place, known, look) : this.#list(place, known);
  }

  /** Looks whether a folder has the same names as it had; undefined if not. */
  #look(place: Place, known: FolderNode): Look | undefined {
    const look: Look = { folders: [], touched: [] };
    const unread: PendingFile[] = [];
    try {
      const entries = readdirSync(toFsPath(place.look), LISTING);
      if (entries.length !== known.entries.size + known.skipped.size) return undefined;
      for (const entry of entries) {
        const { name } = entry;
        const node = known.entries.get(name);
        if (kindOf(entry) !== kindOfNode(node ?? known.skipped.get(name))) return undefined;
        if (node instanceof FolderNode) look.folders.push(name);
        else if (node && !isUnchanged(node, `${place.look}/${name}`)) look.touched.push(name);
        else if (node && isWanting(node))
          unread.push({ path: place.path, name, node, folder: known, stage: "settled" });
      }
    } catch {
      return undefined;
    }
    this.unread.push(...unread);
    this.#files += known.entries.size - look.folders.length - look.touched.length;
    return look;
  }

  /** A folder with the names that it had. What has been touched is looked up by its descriptor. */
  #update(place: Place, known: FolderNode, { folders, touched }: Look): FolderNode | undefined {
    const inner = new Map<ByteString, FolderNode | undefined>();
    for (const name of folders) {
      const before = known.entries.get(name) as FolderNode;
      const after = this.#child(place, name, before);
      if (after !== before) inner.set(name, after);
    }
    if (inner.size === 0 && touched.length === 0) return known;
    const listing = new Listing(known);
    try {
      const prefix = touched.length === 0 ? "" : place.at.open();
      for (const name of touched) {
        listing.entries.delete(name);
        this.#file(place, prefix, name, listing, known.entries.get(name) as FileNode);
      }
    } catch (error) {
      return unlisted(error, known);
    }
    for (const [name, folder] of inner) {
      if (folder) listing.entries.set(name, folder);
      else listing.entries.delete(name);
    }
    return this.#finish(place, listing, known);
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
      return unlisted(error, known);
    }
    if (this.#rules.learn) this.#learn(place, prefix, entries);
    const listing = new Listing();
    for (const entry of entries) this.#entry(place, prefix, entry, listing, known?.entries.get(entry.name));
    return this.#finish(place, listing, known);
  }

  #finish({ path }: Place, listing: Listing, known: FolderNode | undefined): FolderNode {
    const folder = new FolderNode(listing.entries, listing.skipped, listing.cut);
    for (const [name, node, before] of listing.changed) {
      const files = before ? this.doubtful : this.changed;
      files.push({ path, name, node, folder, stage: "fresh", before });
    }
    for (const [name, node] of listing.unread)
      this.unread.push({ path, name, node, folder, stage: "settled" });
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
      if (isWanting(known)) listing.unread.push([name, known]);
      return;
    }
    const secret = this.#isSecret(place, name, stats);
    const node = new FileNode(secret ? "secret" : "unread", stats);
    if (!secret && stats.isSymbolicLink()) readLink(node, prefix + name);
    else if (!secret && stats.size > this.#rules.limits.fileBytes) node.state = "large";
    listing.entries.set(name, node);
    if (node.state !== "unread") return;
    const before = known?.isAt(stats) && known.state === "read" ? known : undefined;
    listing.changed.push([name, node, before]);
  }

  /** A secret stays one when it is moved, or linked to from a name that does not tell. */
  #isSecret(place: Place, name: ByteString, stats: Stats): boolean {
    const { names, secretFiles } = this.#rules;
    const identity = identityOf(stats);
    const secret =
      place.secret ||
      names.isSecret(place.path, name, false) ||
      (identity !== undefined && secretFiles.has(identity));
    if (secret && identity !== undefined) secretFiles.add(identity);
    return secret;
  }
}
