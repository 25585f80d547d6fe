/** What happened to a file. A rename is a deletion and an addition. */
export type FileStatus = "added" | "modified" | "deleted";

/** Types and permissions of a file as octal text: `"100644"`, `"100755"`, `"120000"` for a symbolic link. */
export interface FileModes {
  /** Null if the file was added. */
  readonly before: string | null;
  /** Null if the file was deleted. */
  readonly after: string | null;
}

/** One changed file, as it stands on the wire. */
export interface FilePatch {
  /** Relative to the root, with slashes. Bytes that are no UTF-8 are lone surrogates U+DC80 to U+DCFF. */
  readonly path: string;
  readonly status: FileStatus;
  /**
   * What `git apply` takes: a unified diff with `a/` and `b/` and three lines of context, or a binary patch. Where the
   * content must not or cannot be shown (a secret, a file over 1 MiB, …), one sentence that says so. Empty if only
   * permissions changed that git does not know.
   */
  readonly patch: string;
  /** Bytes; 0 if the file was added. */
  readonly size_before: number;
  /** Bytes; 0 if the file was deleted. */
  readonly size_after: number;
  /** SHA-256 in hex; null if there was no file, or its content was not read. */
  readonly content_hash_before: string | null;
  /** SHA-256 in hex; null if there is no file, or its content was not read. */
  readonly content_hash_after: string | null;
  /** Present if a side is a symbolic link or executable, or if the two differ. */
  readonly mode?: FileModes;
}

/** What every report of a scan begins with. */
export interface ScanHead {
  /** When the scan began, in seconds since 1970. */
  readonly snapshot_timestamp: number;
  /** How long it took, in milliseconds. */
  readonly scan_duration_ms: number;
  /** Files that are tracked. */
  readonly files_scanned: number;
  /** Files that have changed, those that were left out included. */
  readonly files_changed: number;
}

/** What has changed between two states of the tree. */
export interface FileDiff extends ScanHead {
  /** Small files first, after what makes room: a file that becomes a folder, or a folder that becomes a file. */
  readonly patches: readonly FilePatch[];
  /** Something was left out: by a limit, then it comes with the next diff, or as it could not be read. */
  readonly truncated?: true;
}

/** One file of a manifest. */
export interface FileManifestEntry {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** SHA-256 in hex. */
  readonly content_hash: string;
}

/** Every file whose content is known: paths and hashes, never content, never secrets. */
export interface FileManifest {
  /** By path. */
  readonly files: readonly FileManifestEntry[];
  readonly files_scanned: number;
  /** Files that a limit left unread are not in it. */
  readonly truncated?: true;
}

/** The content of a file that is worth keeping as a whole. */
export interface CapturedFile {
  readonly path: string;
  readonly status: "added" | "modified";
  /** Bytes. */
  readonly size: number;
  /** SHA-256 in hex. */
  readonly content_hash: string;
  /** Its media type: `"image/png"`. */
  readonly content_type: string;
  readonly file: {
    readonly type: "file";
    /** Base64. */
    readonly data: string;
    readonly media_type: string;
  };
}

/** Documents and pictures that have changed since `setup` or `advance`, and were not captured before as they are. */
export interface FileCapture extends ScanHead {
  /** Changed documents and pictures that were not captured before. */
  readonly files_eligible: number;
  readonly files_captured: number;
  readonly files_skipped: number;
  /** By path. */
  readonly files: readonly CapturedFile[];
  /** Some were left out by a limit. Those that fit at all come with the next flush. */
  readonly truncated?: true;
}

/** The last diff of a task together with what is worth keeping, from one scan. */
export interface FileFlush {
  readonly diff: FileDiff;
  readonly capture: FileCapture;
}
