import type { FileErrorCode } from "@envport/ssh";
import { FileError } from "@envport/ssh";
import type { SandboxProcess } from "@envport/sandbox";
import type { AbortOptions } from "@envport/wire";
import { isJsonObject, own } from "@envport/wire";
import { FILE_SCRIPT } from "./_file_script.ts";
import type { Runner } from "./_runner.ts";
import type { FileStats } from "@envport/ssh";

/** A file may be slow, but not for ever. */
const TIMEOUT_MS = 20_000;
/** The answer's first line is shorter; more is not ours. */
const MAX_ANSWER_BYTES = 4_096;

const CODES: Readonly<Record<string, FileErrorCode>> = {
  ENOENT: "ENOENT",
  ENOTDIR: "ENOENT",
  ENAMETOOLONG: "ENOENT",
  EACCES: "EACCES",
  EPERM: "EACCES",
  EROFS: "EACCES",
  EISDIR: "EISDIR",
  ELOOP: "ELOOP",
  ENOTFILE: "ENOTFILE",
  ENXIO: "ENOTFILE",
  EAGAIN: "ENOTFILE",
  EFBIG: "EFBIG",
};

/** Files of the workspace, in the sandbox's own view. Everything that comes back is the agent's word, and bounded. */
export class WorkspaceFiles {
  readonly #runner: Runner;
  readonly #node: string;

  /**
   * @param runner Where the helper runs.
   * @param node The path of Node there.
   */
  constructor(runner: Runner, node: string) {
    this.#runner = runner;
    this.#node = node;
  }

  async read(path: string, maxBytes: number, options: AbortOptions): Promise<Buffer> {
    const { content } = await this.#do({ act: "read", path, argument: maxBytes, maxBytes }, options);
    if (content.length > maxBytes) throw new FileError("EFBIG", "read", path);
    return content;
  }

  async write(path: string, data: string | Uint8Array, mode: number, options: AbortOptions): Promise<void> {
    await this.#do({ act: "write", path, argument: mode, input: data }, options);
  }

  async stat(path: string, options: AbortOptions): Promise<FileStats> {
    const { ok } = await this.#do({ act: "stat", path }, options);
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

  async #do(request: FileRequest, { signal }: AbortOptions): Promise<{ ok: unknown; content: Buffer }> {
    const { act, path, argument = 0, input = "", maxBytes = 0 } = request;
    if (path === "" || path.includes("\0")) throw new FileError("ENOENT", act, path);
    const argv = [this.#node, "-e", FILE_SCRIPT, "--", act, path, String(argument)];
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    try {
      const process = await this.#runner.spawn({ argv }, { signal: either });
      process.stdin.on("error", () => undefined);
      process.stdin.end(input);
      process.stderr?.resume();
      const output = await readAll(process, MAX_ANSWER_BYTES + maxBytes + 1, either);
      const answer = parseAnswer(output, act, path);
      const { code } = await process.exit;
      if (code !== 0 && answer.content.length <= maxBytes) throw interrupted(act, path);
      return answer;
    } catch (error) {
      signal?.throwIfAborted();
      if (timeout.aborted) throw new FileError("ETIMEDOUT", act, path, { cause: error });
      throw error;
    }
  }
}

interface FileRequest {
  act: "read" | "write" | "stat";
  path: string;
  argument?: number;
  input?: string | Uint8Array;
  maxBytes?: number;
}

async function readAll(process: SandboxProcess, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdout as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) break; // it leaves, and the helper with it
  }
  signal.throwIfAborted();
  return Buffer.concat(chunks);
}

function parseAnswer(output: Buffer, act: string, path: string): { ok: unknown; content: Buffer } {
  const end = output.subarray(0, MAX_ANSWER_BYTES).indexOf(0x0a);
  let answer: unknown;
  try {
    answer = JSON.parse(output.toString("utf8", 0, Math.max(end, 0)));
  } catch {
    answer = undefined;
  }
  if (!isJsonObject(answer)) throw interrupted(act, path);
  const ok = own(answer, "ok");
  if (ok !== undefined) return { ok, content: output.subarray(end + 1) };
  const code = String(own(answer, "code"));
  throw new FileError(CODES[code] ?? "EIO", act, path, { detail: `the system says ${code.slice(0, 32)}` });
}

function interrupted(act: string, path: string): FileError {
  return new FileError("EIO", act, path, { detail: "the helper in the sandbox was interrupted" });
}
