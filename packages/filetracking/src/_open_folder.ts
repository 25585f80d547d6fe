import { closeSync, constants, openSync } from "node:fs";
import type { ByteString } from "./_names.ts";
import { toFsPath } from "./_names.ts";

const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** `O_NONBLOCK`: a pipe that takes a file's place, or a lease on it, does not block. */
export const FILE_FLAGS: number =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Elsewhere a folder cannot be reached through its descriptor; sandboxes do not exist there either. */
const BY_DESCRIPTOR = process.platform === "linux";

/**
 * A folder that names are looked up in, opened when it is first needed: from its parent's descriptor and without
 * following a link, so that no link that is put in the place of a folder on the way can lead out of the root. Node has no
 * `openat`; `/proc/self/fd/<descriptor>/<name>` is the same to the kernel.
 */
export class OpenFolder {
  readonly #parent: OpenFolder | undefined;
  readonly #path: ByteString;
  #descriptor: number | undefined;

  private constructor(parent: OpenFolder | undefined, path: ByteString) {
    this.#parent = parent;
    this.#path = path;
  }

  /** @param path Trusted, up to its last name. */
  static root(path: ByteString): OpenFolder {
    return new OpenFolder(undefined, path);
  }

  /** A folder in this one; it must be closed before this one is. */
  child(name: ByteString): OpenFolder {
    return new OpenFolder(this, name);
  }

  /**
   * What to put before a name to look it up in this folder. Only the last name of the result may be a link.
   *
   * @throws {Error} `ENOENT`, `ENOTDIR` or `ELOOP` if no folder is there any more, `EACCES` if it cannot be opened.
   */
  open(): ByteString {
    const path = this.#parent ? this.#parent.open() + this.#path : this.#path;
    this.#descriptor ??= openSync(toFsPath(path), FOLDER_FLAGS);
    return BY_DESCRIPTOR ? `/proc/self/fd/${String(this.#descriptor)}/` : `${path}/`;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Whether an error says that nothing is there, or something else than expected. */
export function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ESTALE"].includes(codeOf(error));
}

/** Whether an error is about this process and not about the file: the scan cannot go on. */
export function isExhausted(error: unknown): boolean {
  return ["EMFILE", "ENFILE", "ENOMEM"].includes(codeOf(error));
}

/** Whether an error says that the file could not be opened without waiting. */
export function isBusy(error: unknown): boolean {
  return ["EAGAIN", "EBUSY", "ETXTBSY"].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
