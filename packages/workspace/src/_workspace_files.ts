import type { FileStats } from "@envport/ssh";
import { FileError } from "@envport/ssh";
import type { AbortOptions } from "@envport/wire";
import { isJsonObject, own } from "@envport/wire";
import { FileHelper } from "./_file_helper.ts";
import type { FileRequest } from "./_file_helper.ts";
import type { Runner } from "./_runner.ts";

/** A file may be slow, but not for ever; what is written gets more time. */
const TIMEOUT_MS = 10_000;
const WRITE_BYTES_PER_MS = 5_000;
/** How long the helper waits for the next request. */
const IDLE_MS = 3_000;

/** Files of the workspace, in the sandbox's own view. */
export class WorkspaceFiles {
  readonly #runner: Runner;
  readonly #node: string;
  #helper: FileHelper | undefined;
  #idle: NodeJS.Timeout | undefined;
  /** Settles when the requests until now have. */
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param runner Where the helper runs.
   * @param node The path of Node there.
   */
  constructor(runner: Runner, node: string) {
    this.#runner = runner;
    this.#node = node;
  }

  async read(path: string, max: number, options: AbortOptions): Promise<Buffer> {
    return (await this.#ask({ act: "read", path, max }, options)).content;
  }

  async write(path: string, data: string | Uint8Array, mode: number, options: AbortOptions): Promise<void> {
    await this.#ask({ act: "write", path, mode, data: Buffer.from(data) }, options);
  }

  async stat(path: string, options: AbortOptions): Promise<FileStats> {
    const { ok } = await this.#ask({ act: "stat", path }, options);
    const stats = isJsonObject(ok) ? ok : {};
    const number = (key: string): number => Number(own(stats, key)) || 0;
    const type = own(stats, "type");
    return {
      type: type === "file" || type === "directory" || type === "symlink" ? type : "other",
      size: number("size"),
      mode: number("mode"),
      mtimeMs: number("mtimeMs"),
    };
  }

  /** One request after another; each has its own time. */
  async #ask(request: FileRequest, { signal }: AbortOptions): Promise<{ ok: unknown; content: Buffer }> {
    const before = this.#last;
    const answer = (async () => {
      await before.catch(() => undefined);
      signal?.throwIfAborted();
      return await this.#askNow(request, signal);
    })();
    this.#last = answer;
    return await answer;
  }

  async #askNow(
    request: FileRequest,
    signal: AbortSignal | undefined,
  ): Promise<{ ok: unknown; content: Buffer }> {
    const { act, path } = request;
    if (path === "" || path.includes("\0")) throw new FileError("ENOENT", act, path);
    clearTimeout(this.#idle);
    if (!this.#helper?.usable) this.#helper = await FileHelper.start(this.#runner, this.#node);
    const helper = this.#helper;
    const size = request.data?.length ?? 0;
    const timeout = AbortSignal.timeout(TIMEOUT_MS + Math.ceil(size / WRITE_BYTES_PER_MS));
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    const close = (): void => helper.close();
    either.addEventListener("abort", close);
    try {
      return await helper.ask(request);
    } catch (error) {
      signal?.throwIfAborted();
      if (timeout.aborted) throw new FileError("ETIMEDOUT", act, path, { cause: error });
      throw error;
    } finally {
      either.removeEventListener("abort", close);
      this.#idle = setTimeout(close, IDLE_MS).unref();
    }
  }
}
