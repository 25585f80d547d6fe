import type { AbortOptions } from "@envport/wire";
import type { Readable, Writable } from "node:stream";

/** How a process ended. */
export interface ExitStatus {
  /** The exit code, or null if a signal ended it or the other side did not say. */
  readonly code: number | null;
  /** The signal that ended it, as `SIGTERM`, or null. */
  readonly signal: string | null;
}

/** A running process, here or far away: what {@linkcode collectOutput} needs of it. */
export interface CommandProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Absent where a terminal carries both. */
  readonly stderr: Readable | undefined;
  readonly exit: Promise<ExitStatus>;
  /** Sends a signal, named as `SIGTERM`, to the process and what it started. */
  signal(name: NodeJS.Signals): void;
  /** Ends the process at once. */
  kill(): void;
}

/** Options of {@linkcode collectOutput}. */
export interface CollectOptions extends AbortOptions {
  /**
   * What the process reads from its standard input.
   *
   * @default an empty input
   */
  input?: string | Uint8Array | undefined;
  /**
   * Milliseconds until the process gets SIGTERM, and SIGKILL one second later.
   *
   * @default no limit
   */
  timeout?: number | undefined;
  /**
   * How many bytes of standard output and error together are kept. A process that writes more is killed.
   *
   * @default 64 MiB
   */
  maxOutput?: number | undefined;
}

/** What a command wrote and how it ended. */
export interface CommandResult {
  /** Standard output as UTF-8. */
  readonly stdout: string;
  /** Standard error as UTF-8. */
  readonly stderr: string;
  /** The exit code; null if a signal ended the command, it timed out, or its output was cut. */
  readonly exitCode: number | null;
  /** The signal that ended it, as `SIGKILL`, or null. */
  readonly signal: string | null;
  /** Whether it ran into `timeout`; the output until then is kept. */
  readonly timedOut: boolean;
  /** Whether it wrote more than `maxOutput`; the output up to there is kept. */
  readonly truncated: boolean;
}

const MAX_OUTPUT = 64 * 1024 * 1024;
/** From SIGTERM to SIGKILL, and from there until the end is no longer waited for. */
const GRACE_MS = 1_000;

/**
 * Feeds a process its input and gathers all it writes until it ends. A result with exit code 0 is always complete:
 * neither a timeout nor cut output ever looks like success.
 *
 * @param process The process, freshly started, its streams not read yet.
 * @param options Input and limits.
 * @throws {unknown} The signal's reason if it aborts; the process is then killed. What `exit` or a stream fails with.
 *
 * @example
 * ```ts
 * import { collectOutput } from "@envport/ssh";
 * import assert from "node:assert/strict";
 * import { PassThrough } from "node:stream";
 *
 * const [stdin, stdout] = [new PassThrough(), new PassThrough()];
 * stdout.end("hello");
 * const exit = Promise.resolve({ code: 0, signal: null });
 * const process = { stdin, stdout, stderr: undefined, exit, signal() {}, kill() {} };
 * assert.equal((await collectOutput(process)).stdout, "hello");
 * ```
 */
export async function collectOutput(
  process: CommandProcess,
  options: CollectOptions = {},
): Promise<CommandResult> {
  const { input, timeout, signal, maxOutput = MAX_OUTPUT } = options;
  const ends = new Ends(process, timeout, signal);
  const room = { bytes: maxOutput, overflow: () => ends.overflow() };
  const stdout = gather(process.stdout, room);
  const stderr = process.stderr && gather(process.stderr, room);
  process.stdin.on("error", () => undefined); // a command need not read its input
  process.stdin.end(input ?? "");
  try {
    const all = Promise.all([process.exit, stdout.ended, stderr?.ended]);
    const exit = await Promise.race([all.then(([status]) => status), ends.abandoned]);
    return {
      stdout: stdout.text(),
      stderr: stderr?.text() ?? "",
      exitCode: ends.timedOut || ends.truncated ? null : exit.code,
      signal: exit.signal,
      timedOut: ends.timedOut,
      truncated: ends.truncated,
    };
  } finally {
    ends.clear();
  }
}

/** The reasons to end a process before its time. */
class Ends {
  timedOut = false;
  truncated = false;
  /** Settles when the end of the process is not waited for any longer. */
  readonly abandoned: Promise<ExitStatus>;
  readonly #process: CommandProcess;
  readonly #signal: AbortSignal | undefined;
  #timer: NodeJS.Timeout | undefined;
  #abandon!: (status: ExitStatus) => void;
  #fail!: (reason: unknown) => void;

  constructor(process: CommandProcess, timeout: number | undefined, signal: AbortSignal | undefined) {
    this.#process = process;
    this.#signal = signal;
    this.abandoned = new Promise((resolve, reject) => {
      this.#abandon = resolve;
      this.#fail = reject;
    });
    this.abandoned.catch(() => undefined);
    if (timeout !== undefined) this.#timer = setTimeout(this.#onTimeout, timeout);
    if (signal?.aborted) this.#onAbort();
    else signal?.addEventListener("abort", this.#onAbort);
  }

  overflow(): void {
    if (this.truncated) return;
    this.truncated = true;
    this.#kill();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }

  readonly #onTimeout = (): void => {
    this.timedOut = true;
    this.#process.signal("SIGTERM");
    this.#timer = setTimeout(() => this.#kill(), GRACE_MS);
  };

  readonly #onAbort = (): void => {
    this.#process.kill();
    this.#fail(this.#signal?.reason);
  };

  /** First by signal, so that the end is still reported, then for good. */
  #kill(): void {
    clearTimeout(this.#timer);
    this.#process.signal("SIGKILL");
    this.#timer = setTimeout(() => {
      this.#process.kill();
      this.#abandon({ code: null, signal: "SIGKILL" });
    }, GRACE_MS);
  }
}

/** Reads a stream to its end, keeping what there is room for. */
function gather(
  stream: Readable,
  room: { bytes: number; overflow: () => void },
): { ended: Promise<void>; text: () => string } {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => {
    const kept = chunk.subarray(0, Math.max(0, room.bytes));
    room.bytes -= chunk.length;
    if (kept.length > 0) chunks.push(kept);
    if (kept.length < chunk.length) room.overflow();
  });
  const ended = new Promise<void>((resolve, reject) => {
    stream.once("end", resolve).once("close", resolve).once("error", reject);
  });
  ended.catch(() => undefined);
  return { ended, text: () => Buffer.concat(chunks).toString("utf8") };
}
