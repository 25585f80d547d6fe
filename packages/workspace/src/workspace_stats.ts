/** What a name in the workspace stands for; a symbolic link is described itself, not what it leads to. */
export interface WorkspaceStats {
  readonly type: "file" | "directory" | "symlink" | "other";
  /** In bytes. */
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
  /** Milliseconds since 1970. */
  readonly mtimeMs: number;
}
