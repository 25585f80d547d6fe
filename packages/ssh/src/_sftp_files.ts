import type { Attributes, SFTPWrapper } from "ssh2";
import type { FileErrorCode } from "./file_error.ts";
import { FileError } from "./file_error.ts";
import type { FileEntry, FileStats } from "./file_stats.ts";

/** One request; OpenSSH's server takes up to 255 KiB, others are asked in smaller pieces by ssh2. */
const CHUNK_BYTES = 128 * 1024;
/** Requests under way at a time: 2 MiB, a channel's window. */
const IN_FLIGHT = 16;
const FILE_TYPE = 0o170000;

/** Status codes of SFTP (draft-ietf-secsh-filexfer-02, section 7). */
const CODES: Readonly<Record<number, FileErrorCode>> = { 2: "ENOENT", 3: "EACCES" };

/** File operations over one SFTP session, many requests at a time. */
export class SftpFiles {
  readonly #sftp: SFTPWrapper;
  readonly #lost: AbortSignal;

  /**
   * @param sftp An open session.
   * @param lost Aborts when its connection is gone.
   */
  constructor(sftp: SFTPWrapper, lost: AbortSignal) {
    this.#sftp = sftp;
    this.#lost = lost;
  }

  async read(path: string, maxBytes: number): Promise<Buffer> {
    const size = await this.#sizeOfFile("read", path);
    if (size > maxBytes) throw new FileError("EFBIG", "read", path);
    const handle = await this.#ask<Buffer>("read", path, (done) => this.#sftp.open(path, "r", done));
    try {
      const chunks = await this.#readChunks({ path, handle, size });
      return await this.#readRest({ path, handle, size }, chunks, maxBytes);
    } finally {
      this.#sftp.close(handle, () => undefined);
    }
  }

  async write(path: string, data: Buffer, mode: number): Promise<void> {
    await this.#sizeOfFile("write", path).catch((error: unknown) => {
      if (!(error instanceof FileError) || error.code !== "ENOENT") throw error;
    });
    const handle = await this.#ask<Buffer>("write", path, (done) =>
      this.#sftp.open(path, "w", { mode }, done),
    );
    let at = 0;
    const work = async (): Promise<void> => {
      while (at < data.length) {
        const [from, length] = [at, Math.min(CHUNK_BYTES, data.length - at)];
        at += length;
        await this.#ask("write", path, (done) => this.#sftp.write(handle, data, from, length, from, done));
      }
    };
    try {
      await Promise.all(Array.from({ length: IN_FLIGHT }, work));
    } finally {
      await this.#ask("write", path, (done) => this.#sftp.close(handle, done));
    }
  }

  async list(path: string): Promise<FileEntry[]> {
    type Entries = Parameters<Parameters<SFTPWrapper["readdir"]>[1]>[1];
    const entries = await this.#ask<Entries>("list", path, (done) => this.#sftp.readdir(path, done));
    return entries
      .map(({ filename, attrs }) => ({ name: filename, ...describe(attrs) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async stat(path: string): Promise<FileStats> {
    return describe(await this.#ask<Attributes>("stat", path, (done) => this.#sftp.stat(path, done)));
  }

  /** A pipe would hold up the whole session: the server waits for its other end. */
  async #sizeOfFile(act: string, path: string): Promise<number> {
    const { type, size } = describe(
      await this.#ask<Attributes>(act, path, (done) => this.#sftp.stat(path, done)),
    );
    if (type === "directory") throw new FileError("EISDIR", act, path);
    if (type !== "file") throw new FileError("ENOTFILE", act, path);
    return size;
  }

  async #readChunks({ path, handle, size }: OpenFile): Promise<Buffer[]> {
    const chunks: Buffer[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next * CHUNK_BYTES < size) {
        const index = next++;
        const at = index * CHUNK_BYTES;
        chunks[index] = await this.#readAt({ path, handle }, at, Math.min(CHUNK_BYTES, size - at));
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, work));
    return chunks;
  }

  /** What lies behind the size that the server named: files of /proc have none, others grow. */
  async #readRest(file: OpenFile, chunks: Buffer[], maxBytes: number): Promise<Buffer> {
    let size = 0;
    const kept: Buffer[] = [];
    for (const chunk of chunks) {
      kept.push(chunk);
      size += chunk.length;
      if (chunk.length < CHUNK_BYTES && size < file.size) return Buffer.concat(kept); // it has shrunk
    }
    for (;;) {
      const chunk = await this.#readAt(file, size, CHUNK_BYTES);
      if (chunk.length === 0) return Buffer.concat(kept);
      kept.push(chunk);
      size += chunk.length;
      if (size > maxBytes) throw new FileError("EFBIG", "read", file.path);
    }
  }

  /** Fewer bytes than asked for are the end of the file. */
  async #readAt(
    { path, handle }: { path: string; handle: Buffer },
    at: number,
    length: number,
  ): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const [from, left] = [filled, length - filled];
      const got = await this.#ask<number>("read", path, (done) => {
        this.#sftp.read(handle, buffer, from, left, at + from, done);
      });
      if (!got) break;
      filled += got;
    }
    return buffer.subarray(0, filled);
  }

  #ask<T>(
    act: string,
    path: string,
    request: (done: (error: Error | null | undefined, value?: T) => void) => void,
  ): Promise<T> {
    if (this.#lost.aborted) return Promise.reject(this.#lost.reason as Error);
    return new Promise((resolve, reject) => {
      request((error, value) => {
        if (!error) resolve(value as T);
        else if (this.#lost.aborted) reject(this.#lost.reason as Error);
        else reject(translate(error, act, path));
      });
    });
  }
}

interface OpenFile {
  path: string;
  handle: Buffer;
  size: number;
}

function translate(error: Error & { code?: unknown }, act: string, path: string): FileError {
  const code = typeof error.code === "number" ? CODES[error.code] : undefined;
  return new FileError(code ?? "EIO", act, path, {
    cause: error,
    detail: `the server says '${error.message}'`,
  });
}

function describe({ mode, size, mtime }: Attributes): FileStats {
  const kinds: Readonly<Record<number, FileStats["type"]>> = {
    0o100000: "file",
    0o040000: "directory",
    0o120000: "symlink",
  };
  const type = kinds[mode & FILE_TYPE] ?? "other";
  return { type, size, mode: mode & 0o7777, mtimeMs: mtime * 1_000 };
}
