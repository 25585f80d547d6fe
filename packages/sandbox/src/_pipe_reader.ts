import { readSync } from "node:fs";
import { Socket } from "node:net";
import { Readable } from "node:stream";

/** No pipe holds more unless the machine's owner raised `fs.pipe-max-size`. */
const MAX_PIPE_BYTES = 2 ** 20;
const CHUNK_BYTES = 65_536;
/** How long a pipe whose process has ended rests after each chunk: background writers cost at most 6.5 MB/s. */
const REST_MS = 10;

/**
 * The host's reading end of a process's output.
 *
 * ```text
 * running   what the process writes, as fast as the reader takes it
 * finished  what was in the pipe when the process exited, then "end"
 * after     what background processes write to it still is dropped, slowly, so that they neither block nor get SIGPIPE
 * ```
 *
 * Destroying it while the process runs closes the pipe: the process gets SIGPIPE, as `yes | head` needs.
 */
export class PipeReader extends Readable {
  readonly #fd: number;
  readonly #socket: Socket;
  readonly #onBytes: ((count: number) => void) | undefined;
  #finished = false;

  /**
   * @param fd A non-blocking descriptor of a pipe; it belongs to the reader from now on.
   * @param onBytes Told how much came, before the reader's consumer gets it.
   */
  constructor(fd: number, onBytes?: (count: number) => void) {
    super({ highWaterMark: CHUNK_BYTES });
    this.#fd = fd;
    this.#onBytes = onBytes;
    this.#socket = new Socket({ fd, readable: true, writable: false });
    this.#socket.pause();
    this.#socket.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#socket.on("error", () => this.#end());
    this.#socket.on("end", () => this.#end());
    this.#socket.on("close", () => this.#end());
  }

  /** The process has exited: what is in the pipe now is all that it wrote. */
  finish(): void {
    if (this.#finished || this.destroyed) return;
    this.#socket.pause();
    while (this.#socket.read() !== null);
    this.#drain();
    this.#end();
    this.#socket.unref();
    this.#socket.resume();
  }

  /** Closes the pipe whatever still writes to it. */
  close(): void {
    this.#socket.destroy();
  }

  /** Whether the pipe is still open: somebody inside may yet write to it. */
  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  override _read(): void {
    if (!this.#finished) this.#socket.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#finished) this.#socket.destroy();
    callback(error);
  }

  #take(chunk: Buffer): void {
    if (this.#finished) {
      this.#drop();
      return;
    }
    this.#onBytes?.(chunk.length);
    if (!this.push(chunk)) this.#socket.pause();
  }

  #drop(): void {
    this.#socket.pause();
    setTimeout(() => this.#socket.resume(), REST_MS).unref();
  }

  /** Reads until the pipe is empty; never more than it can have held, since others may be writing. */
  #drain(): void {
    for (let taken = 0; taken < MAX_PIPE_BYTES;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      let count: number;
      try {
        count = readSync(this.#fd, chunk, 0, chunk.length, null);
      } catch {
        return;
      }
      if (count === 0) return;
      taken += count;
      this.#onBytes?.(count);
      this.push(chunk.subarray(0, count));
    }
  }

  #end(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.push(null);
  }
}
