/**
 * One mount of the sandbox.
 *
 * | kind | `src` | what appears at `dst` |
 * | --- | --- | --- |
 * | `ro` | host path | that file or directory, read-only |
 * | `rw` | host path | that file or directory, writable as far as the sandbox's user may |
 * | `tmpfs` | – | an empty directory in memory, bounded by `limits.tmpfs` |
 * | `symlink` | link text | a symbolic link, resolved inside |
 * | `proc` | – | the sandbox's own processes |
 * | `dev` | – | null, zero, full, random, urandom, tty, a private pts and shm |
 */
export interface Mount {
  /** What to mount. */
  readonly kind: "ro" | "rw" | "tmpfs" | "symlink" | "proc" | "dev";
  /** The host path, or the text of a symbolic link. */
  readonly src?: string | undefined;
  /** The absolute path inside. */
  readonly dst: string;
  /**
   * Leaves the mount out where `src` does not exist.
   *
   * @default {false}
   */
  readonly optional?: boolean | undefined;
}
