import { FileError } from "@envport/ssh";
import type { FileErrorCode } from "@envport/ssh";
import type { SandboxProcess } from "@envport/sandbox";
import { isJsonObject, own } from "@envport/wire";
import { AnswerReader } from "./_answer_reader.ts";
import { FILE_SCRIPT } from "./_file_script.ts";
import type { Runner } from "./_runner.ts";

/** What the helper is asked for. */
export interface FileRequest {
  readonly act: "read" | "write" | "stat";
  readonly path: string;
  /** The largest file that is read. */
  readonly max?: number;
  /** Permission bits of a new file. */
  readonly mode?: number;
  /** What is written. */
  readonly data?: Buffer;
}

/** An answer's first line is shorter; more is not the helper's. */
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

/** The host's side of the program that works on files inside. All it says is the agent's word, and bounded. */
export class FileHelper {
  readonly #process: SandboxProcess;
  readonly #reader: AnswerReader;
  #broken = false;

  private constructor(process: SandboxProcess) {
    this.#process = process;
    this.#reader = new AnswerReader(process.stdout);
    process.stderr?.resume();
    process.stdin.on("error", () => undefined);
    void process.exit.then(() => (this.#broken = true));
  }

  /**
   * Starts it.
   *
   * @param runner Where it runs.
   * @param node The path of Node there.
   */
  static async start(runner: Runner, node: string): Promise<FileHelper> {
    return new FileHelper(await runner.spawn({ argv: [node, "-e", FILE_SCRIPT] }));
  }

  /** Whether it takes requests. */
  get usable(): boolean {
    return !this.#broken && !this.#reader.isAhead;
  }

  /**
   * Asks, one request at a time.
   *
   * @throws {FileError}
   */
  async ask({ data, ...request }: FileRequest): Promise<{ ok: unknown; content: Buffer }> {
    const { act, path, max = 0 } = request;
    this.#process.stdin.write(`${JSON.stringify({ ...request, size: data?.length ?? 0 })}\n`);
    if (data) this.#process.stdin.write(data);
    const answer = parse(await this.#reader.line(MAX_ANSWER_BYTES));
    if (!answer) throw this.#interrupted(act, path);
    const ok = own(answer, "ok");
    if (ok === undefined) {
      const code = String(own(answer, "code"));
      throw new FileError(CODES[code] ?? "EIO", act, path, {
        detail: `the system says ${code.slice(0, 32)}`,
      });
    }
    const size = own(answer, "size") ?? 0;
    if (typeof size !== "number" || !(size >= 0 && size <= max)) throw this.#interrupted(act, path);
    const content = await this.#reader.bytes(size);
    if (!content) throw this.#interrupted(act, path);
    return { ok, content };
  }

  /** Ends it. */
  close(): void {
    this.#broken = true;
    this.#process.stdin.end();
    this.#process.kill();
  }

  #interrupted(act: string, path: string): FileError {
    this.close();
    return new FileError("EIO", act, path, { detail: "the helper in the sandbox was interrupted" });
  }
}

function parse(line: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line ?? "");
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
