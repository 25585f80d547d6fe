import type { Stats } from "node:fs";
import type { ByteString } from "./_names.ts";

/**
 * How much is known of a file's content.
 *
 * | state | meaning |
 * | --- | --- |
 * | `read` | its hash is known; its content too, if it is small enough to be kept |
 * | `unread` | a limit left it for a later scan |
 * | `secret` | its name says that it must not be read |
 * | `large` | it is over the limit of a file |
 * | `unreadable` | the system did not let it be read |
 */
export type FileState = "read" | "unread" | "secret" | "large" | "unreadable";

const TYPE_MASK = 0o170000;
const LINK = 0o120000;
const EXECUTABLE = 0o100;

/** A file or symbolic link at one moment. It may learn its content later, but what it describes never changes. */
export class FileNode {
  state: FileState;
  mode = 0;
  size = 0;
  mtimeMs = 0;
  ctimeMs = 0;
  ino = 0;
  dev = 0;
  /** SHA-256 in hex. */
  hash: string | undefined;
  /** The content, or a link's target. */
  content: Buffer | undefined;
  /** It may have changed after it was read without a trace in its times. */
  racy = false;

  constructor(state: FileState, stats: Stats) {
    this.state = state;
    this.describe(stats);
  }

  describe(stats: Stats): void {
    this.mode = stats.mode;
    this.size = stats.size;
    this.mtimeMs = stats.mtimeMs;
    this.ctimeMs = stats.ctimeMs;
    this.ino = stats.ino;
    this.dev = stats.dev;
  }

  /** Whether nothing has happened to the file. Its times of change cannot be set by programs, unlike `mtime`. */
  isAt(stats: Pick<Stats, "mode" | "size" | "mtimeMs" | "ctimeMs" | "ino" | "dev">): boolean {
    return (
      this.ctimeMs === stats.ctimeMs &&
      this.mtimeMs === stats.mtimeMs &&
      this.size === stats.size &&
      this.ino === stats.ino &&
      this.mode === stats.mode &&
      this.dev === stats.dev
    );
  }

  get isLink(): boolean {
    return (this.mode & TYPE_MASK) === LINK;
  }

  /** The mode as git knows it. */
  get gitMode(): "100644" | "100755" | "120000" {
    if (this.isLink) return "120000";
    return this.mode & EXECUTABLE ? "100755" : "100644";
  }

  /** Type and permissions in octal; those of a link mean nothing. */
  get octalMode(): string {
    return this.isLink ? "120000" : this.mode.toString(8).padStart(6, "0");
  }

  /** Whether a report should tell the two apart. */
  differsFrom(other: FileNode): boolean {
    if (this === other) return false;
    if (this.octalMode !== other.octalMode) return true;
    if (this.hash !== undefined && other.hash !== undefined) return this.hash !== other.hash;
    return this.size !== other.size || this.mtimeMs !== other.mtimeMs || this.ctimeMs !== other.ctimeMs;
  }
}

/** What a name stands for in a listing. */
export type EntryKind = "folder" | "file" | "link" | "special";

/** What is in a folder and below: never changed once its scan is over, and shared by all scans that find it so. */
export class FolderNode {
  readonly entries: Map<ByteString, FileNode | FolderNode>;
  /** Names that are not tracked, with the kind they had when that was decided. */
  readonly skipped: Map<ByteString, EntryKind>;
  /** Something in this folder could not be listed. */
  readonly cut: boolean;
  #files: number | undefined;
  #incomplete: boolean | undefined;

  constructor(
    entries: Map<ByteString, FileNode | FolderNode> = new Map(),
    skipped: Map<ByteString, EntryKind> = new Map(),
    cut = false,
  ) {
    this.entries = entries;
    this.skipped = skipped;
    this.cut = cut;
  }

  /** Files in it and below. */
  get files(): number {
    if (this.#files === undefined) {
      this.#files = 0;
      for (const node of this.entries.values()) this.#files += node instanceof FileNode ? 1 : node.files;
    }
    return this.#files;
  }

  /** Whether something in it or below could not be listed. */
  get incomplete(): boolean {
    this.#incomplete ??=
      this.cut || [...this.entries.values()].some((node) => node instanceof FolderNode && node.incomplete);
    return this.#incomplete;
  }

  /** Whether another listing found just the same. */
  equals(other: FolderNode): boolean {
    if (this.cut !== other.cut || this.entries.size !== other.entries.size) return false;
    if (this.skipped.size !== other.skipped.size) return false;
    for (const [name, node] of this.entries) if (other.entries.get(name) !== node) return false;
    for (const [name, kind] of this.skipped) if (other.skipped.get(name) !== kind) return false;
    return true;
  }
}

/** The files below a folder, with their paths. */
export function* filesIn(folder: FolderNode, path: ByteString = ""): Generator<[ByteString, FileNode]> {
  for (const [name, node] of folder.entries) {
    const at = path === "" ? name : `${path}/${name}`;
    if (node instanceof FileNode) yield [at, node];
    else yield* filesIn(node, at);
  }
}

/** The content that is kept of the files below a folder, in bytes. */
export function contentIn(folder: FolderNode): number {
  let bytes = 0;
  for (const node of folder.entries.values()) {
    bytes += node instanceof FileNode ? (node.content?.length ?? 0) : contentIn(node);
  }
  return bytes;
}
