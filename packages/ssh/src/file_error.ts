/**
 * Why a file could not be read or written, with the names that Node uses for its own.
 *
 * | code | meaning |
 * | --- | --- |
 * | `ENOENT` | there is no such file |
 * | `EACCES` | the permissions do not allow it |
 * | `EISDIR` | it is a directory |
 * | `ELOOP` | it is, or lies behind, a symbolic link where none is followed |
 * | `ENOTFILE` | it is a pipe, a socket or a device |
 * | `EFBIG` | it is larger than the limit given |
 * | `ETIMEDOUT` | it took too long |
 * | `EIO` | anything else; the message has the other side's words |
 */
export type FileErrorCode =
  "ENOENT" | "EACCES" | "EISDIR" | "ELOOP" | "ENOTFILE" | "EFBIG" | "ETIMEDOUT" | "EIO";

/**
 * A file operation that failed on the other side.
 *
 * @example
 * ```ts
 * import { FileError } from "@envport/ssh";
 * import assert from "node:assert/strict";
 *
 * const error = new FileError("ENOENT", "read", "/workspace/missing");
 * assert.equal(error.message, "Cannot read file as it must exist: current value is '/workspace/missing'");
 * ```
 */
export class FileError extends Error {
  override readonly name = "FileError";
  /** What kind of failure this is; the message is for people. */
  readonly code: FileErrorCode;
  /** The path as it was asked for. */
  readonly path: string;

  /**
   * @param code What kind of failure this is.
   * @param act What was tried: `read`.
   * @param path The path as it was asked for.
   * @param options The other side's own words, and the error behind this one.
   */
  constructor(
    code: FileErrorCode,
    act: string,
    path: string,
    options: ErrorOptions & { detail?: string } = {},
  ) {
    const rule = code === "EIO" ? (options.detail ?? RULES.EIO) : RULES[code];
    super(`Cannot ${act} file as ${rule}: current value is '${path}'`, options);
    this.code = code;
    this.path = path;
  }
}

const RULES: Readonly<Record<FileErrorCode, string>> = {
  ENOENT: "it must exist",
  EACCES: "its permissions must allow it",
  EISDIR: "it must be no directory",
  ELOOP: "no symbolic link is followed",
  ENOTFILE: "it must be a regular file",
  EFBIG: "it must be no larger than the limit",
  ETIMEDOUT: "it took too long",
  EIO: "the other side failed",
};
