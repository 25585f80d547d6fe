import { EnvportError } from "@envport/wire";
import type { AbortOptions, DialTarget, JsonObject } from "@envport/wire";
import { resolve } from "node:path";
import { TrackerThread } from "./_tracker_thread.ts";
import type { WorkerMethod } from "./_worker_messages.ts";
import type { FileDiff, FileFlush, FileManifest } from "./file_diff.ts";

/** What a tracker leaves out, and what it never reads. */
export interface FileTrackerOptions {
  /**
   * Whether `.gitignore` files count, at every level and with git's own meaning, as they were at the baseline.
   *
   * @default {true}
   */
  readonly gitignore?: boolean | undefined;
  /**
   * Further patterns of what is not tracked, as in `.gitignore`, on top of build output, caches and version control.
   *
   * @default {[]}
   */
  readonly exclude?: readonly string[] | undefined;
  /**
   * Further patterns of what is seen to change but never read, as in `.gitignore` without regard to case, on top of the
   * usual names of credentials, which cannot be taken away.
   *
   * @default {[]}
   */
  readonly secrets?: readonly string[] | undefined;
  /**
   * Receives what must not cross the wire: the reasons for which a scan failed.
   *
   * @default the console's error output
   */
  readonly log?: ((message: string, error: unknown) => void) | undefined;
}

/**
 * Tells what changes in a directory, in a thread of its own: scans never hold up the program.
 *
 * ```text
 * idle ── start() ─▶ tracking ── setup(), advance() ─▶ a new baseline
 *                       │        diff(), flush()     ─▶ what is new since the last of the four
 *                       └── close() ─▶ closed
 * ```
 *
 * The directory may belong to somebody who must not be trusted: links are reported, never followed; pipes, sockets and
 * devices are left alone.
 *
 * @example
 * ```ts
 * import { FileTracker } from "@envport/filetracking";
 * import assert from "node:assert/strict";
 * import { mkdtemp, writeFile } from "node:fs/promises";
 *
 * const root = await mkdtemp("/tmp/tracked-");
 * await using tracker = new FileTracker(root);
 * await tracker.start();
 * await writeFile(`${root}/hello.txt`, "hello\n");
 * const { patches } = await tracker.diff();
 * assert.equal(patches[0]?.status, "added");
 * assert.match(patches[0].patch, /^\+hello$/m);
 * ```
 */
export class FileTracker implements AsyncDisposable {
  /** The directory, absolute. */
  readonly root: string;
  readonly #options: FileTrackerOptions;
  #thread: TrackerThread | undefined;
  #starting: Promise<unknown> | undefined;
  #isClosed = false;

  /**
   * Nothing happens yet.
   *
   * @param root The directory; a relative one is below the current folder. The folders above it are trusted.
   * @param options What to leave out.
   */
  constructor(root: string, options: FileTrackerOptions = {}) {
    this.root = resolve(root);
    this.#options = options;
  }

  /** Resolves when the tracker is gone: to undefined after `close`, else to the reason. Read after `start`. */
  get closed(): Promise<Error | undefined> {
    return this.#thread?.closed ?? Promise.resolve(undefined);
  }

  /**
   * Takes the directory as it is as the baseline. Idempotent.
   *
   * @throws {EnvportError} `service-failed` If there is no such directory, or it is a symbolic link; `closed`
   */
  async start({ signal }: AbortOptions = {}): Promise<void> {
    if (this.#isClosed) throw closed();
    this.#thread ??= this.#newThread();
    this.#starting ??= this.#thread.call("start", {}, { signal });
    try {
      await this.#starting;
    } catch (error) {
      this.#starting = undefined;
      throw error;
    }
  }

  /**
   * What has changed since the baseline: what a task's set-up did. The directory as it is becomes the new baseline, whole,
   * with the ignore rules that it holds now, also if the diff is truncated.
   *
   * @throws {EnvportError} `closed`, `service-failed`; so do the methods below.
   */
  async setup(options?: AbortOptions): Promise<FileDiff> {
    return await this.#call<FileDiff>("setup", options);
  }

  /** The directory as it is becomes the new baseline; what has changed before is not told. */
  async advance(options?: AbortOptions): Promise<void> {
    await this.#call("advance", options);
  }

  /** What has changed since the last report. A report that is given up by its signal is told again by the next one. */
  async diff(options?: AbortOptions): Promise<FileDiff> {
    return await this.#call<FileDiff>("diff", options);
  }

  /** The files as they were at the last report; there is no scan. */
  async snapshot(options?: AbortOptions): Promise<FileManifest> {
    return await this.#call<FileManifest>("snapshot", options);
  }

  /** What has changed since the last report, and the documents and pictures changed since the baseline. */
  async flush(options?: AbortOptions): Promise<FileFlush> {
    return await this.#call<FileFlush>("flush", options);
  }

  /**
   * Serves the same state as `filetracking/1`; see {@linkcode FileTrackingServer}, which also publishes it.
   *
   * @param target A socket path, or host and port; port 0 is any.
   * @returns The port, if it is one.
   * @throws {EnvportError} `address-in-use`
   */
  async listen(target: DialTarget, options?: AbortOptions): Promise<number | undefined> {
    const { port } = await this.#call<{ port?: number }>("listen", options, { ...target });
    return port;
  }

  /** Ends connections in good order, and the tracker. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.close();
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #newThread(): TrackerThread {
    const { log = logToConsole, gitignore, exclude, secrets } = this.#options;
    const options = { gitignore, exclude: exclude && [...exclude], secrets: secrets && [...secrets] };
    return new TrackerThread({ root: this.root, options }, log);
  }

  async #call<T>(method: WorkerMethod, options: AbortOptions = {}, params: JsonObject = {}): Promise<T> {
    if (this.#isClosed) throw closed();
    if (!this.#thread || !this.#starting) {
      throw new EnvportError(
        "closed",
        "Cannot track files as the tracker must be started: current value is 'idle'",
      );
    }
    await this.#starting;
    return (await this.#thread.call(method, params, options)) as T;
  }
}

function closed(): EnvportError {
  return new EnvportError("closed", "Cannot track files as the tracker is closed");
}

function logToConsole(message: string, error: unknown): void {
  console.error(`file tracking: ${message}:`, error);
}
