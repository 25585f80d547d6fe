import { createHash, hash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Stats } from "node:fs";
import type { ByteString } from "./_names.ts";
import { toFsPath } from "./_names.ts";
import { FILE_FLAGS } from "./_open_folder.ts";

/** A regular file as it was while it was read. */
export interface Content {
  readonly stats: Stats;
  /** SHA-256 in hex. */
  readonly hash: string;
  /** Undefined if the file is larger than what was to be kept. */
  readonly bytes: Buffer | undefined;
  /** It changed while it was read, or so shortly before that its times would not tell of a further change. */
  readonly racy: boolean;
}

/** Why a file was not read: it is over the limit (then there are its stats), or no regular file. */
export type Refusal = { readonly refused: "large"; readonly stats: Stats } | { readonly refused: "gone" };

const CHUNK_BYTES = 1024 * 1024;
const TRIES = 3;
/** Kernels stamp files with a clock that ticks 100 to 1000 times a second; some file systems keep whole seconds. */
const TICK_MS = 20;
const COARSE_TICK_MS = 2000;

let chunk: Buffer | undefined;

/**
 * Reads a regular file, and nothing else: links are not followed, pipes and devices are not waited for.
 *
 * @param path The folder's prefix, and one name.
 * @param maxBytes A larger file is refused.
 * @param keepBytes Content of a larger file is hashed and dropped.
 * @throws {Error} As the system says it.
 */
export function readContent(path: ByteString, maxBytes: number, keepBytes: number): Content | Refusal {
  const descriptor = openSync(toFsPath(path), FILE_FLAGS);
  try {
    for (let tries = 1; ; tries++) {
      const now = Date.now();
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) return { refused: "gone" };
      if (stats.size > maxBytes) return { refused: "large", stats };
      const content =
        stats.size <= keepBytes ? readWhole(descriptor, stats.size) : readChunks(descriptor, stats.size);
      const after = fstatSync(descriptor);
      const torn =
        after.ctimeMs !== stats.ctimeMs || after.size !== stats.size || content.size !== stats.size;
      if (!torn || tries === TRIES) return { ...content, stats: after, racy: torn || isRecent(after, now) };
    }
  } finally {
    closeSync(descriptor);
  }
}

function isRecent({ ctimeMs }: Stats, now: number): boolean {
  return ctimeMs > now - (ctimeMs % 1000 === 0 ? COARSE_TICK_MS : TICK_MS);
}

interface Read {
  readonly hash: string;
  readonly bytes: Buffer | undefined;
  readonly size: number;
}

function readWhole(descriptor: number, size: number): Read {
  const buffer = Buffer.allocUnsafe(size);
  const bytes = buffer.subarray(0, fill(descriptor, buffer, 0));
  return { hash: hash("sha256", bytes), bytes, size: bytes.length };
}

function readChunks(descriptor: number, size: number): Read {
  chunk ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const digest = createHash("sha256");
  let at = 0;
  while (at < size) {
    const length = fill(descriptor, chunk.subarray(0, Math.min(CHUNK_BYTES, size - at)), at);
    if (length === 0) break;
    digest.update(chunk.subarray(0, length));
    at += length;
  }
  return { hash: digest.digest("hex"), bytes: undefined, size: at };
}

/** Reads until the buffer is full or the file ends. */
function fill(descriptor: number, buffer: Buffer, position: number): number {
  let at = 0;
  while (at < buffer.length) {
    const length = readSync(descriptor, buffer, at, buffer.length - at, position + at);
    if (length === 0) break;
    at += length;
  }
  return at;
}
