/** What a name on the other side stands for. */
export interface FileStats {
  readonly type: "file" | "directory" | "symlink" | "other";
  /** In bytes. */
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
  /** Milliseconds since 1970. */
  readonly mtimeMs: number;
}

/** An entry of a directory; a symbolic link is described itself, not what it leads to. */
export interface FileEntry extends FileStats {
  readonly name: string;
}
