import type { AbortOptions } from "./abort_options.ts";
import type { ByteStream } from "./byte_stream.ts";
import { wasReset } from "./byte_stream.ts";
import { EnvportError } from "./envport_error.ts";
import type { FrameReaderOptions } from "./frame_reader.ts";
import { FrameReader } from "./frame_reader.ts";

/** What {@linkcode FramedStream.release} hands over. */
export interface ReleasedStream {
  /** The stream, paused and without listeners of ours. */
  stream: ByteStream;
  /** Bytes that arrived but belong to no line that was read. */
  head: Buffer;
  /** Whether the reading direction has ended, after `head`. */
  ended: boolean;
}

/** Nobody reads: stop the sender at this many bytes or chunks. */
const PAUSE_BYTES = 64 * 1024;
const PAUSE_CHUNKS = 256;

/**
 * Reads lines from a byte stream, one at a time, and hands the stream over when lines end: the adapter between a socket
 * and {@linkcode FrameReader}.
 *
 * It listens from its construction on, so that no byte, end or reset is missed, also while nobody reads: then it holds
 * at most 64 KiB (plus one chunk) and pauses the sender.
 *
 * ```text
 * open ── end ──▶ ended (lines that came before are still read, an unterminated last one included)
 *   ├── reset ──▶ lost  (reads reject; `lost` aborts)
 *   └── release() ──▶ released (the caller owns the stream)
 * ```
 *
 * @example
 * ```ts
 * import { FramedStream } from "@envport/wire";
 * import { PassThrough } from "node:stream";
 * import assert from "node:assert/strict";
 *
 * const stream = new PassThrough();
 * const framed = new FramedStream(stream);
 * stream.end("one\ntwo");
 * assert.equal(String(await framed.read()), "one");
 * assert.equal(String(await framed.read()), "two");
 * assert.equal(await framed.read(), undefined);
 * ```
 */
export class FramedStream {
  /** The stream underneath; write to it directly. */
  readonly stream: ByteStream;
  readonly #reader: FrameReader;
  readonly #lost = new AbortController();
  #ended = false;
  #released = false;
  #wake: (() => void) | undefined;

  /**
   * @param stream A stream that nothing has read from.
   * @param options The limit of a line.
   */
  constructor(stream: ByteStream, options: FrameReaderOptions = {}) {
    this.stream = stream;
    this.#reader = new FrameReader(options);
    stream
      .on("data", this.#onData)
      .on("end", this.#onEnd)
      .on("error", this.#onError)
      .on("close", this.#onClose);
    this.#ended = stream.readableEnded;
    if (stream.closed) this.#onClose();
    stream.resume();
  }

  /** Longest accepted line in bytes. */
  get maxFrameBytes(): number {
    return this.#reader.maxFrameBytes;
  }

  set maxFrameBytes(value: number) {
    this.#reader.maxFrameBytes = value;
  }

  /** Whether the other side has ended its direction. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Aborts when the connection is gone without an orderly end of the reading direction. While the stream is paused, as
   * nobody reads, a reset may stay unseen.
   */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Resolves to the next line, or to undefined at the end of the stream. One call at a time.
   *
   * @param options A signal that gives up waiting; nothing is lost by it.
   * @throws {ProtocolError} If the line is over the limit (-32600, FRAME-4).
   * @throws {EnvportError} If the connection was lost (`connection-lost`), or the stream was released (`closed`).
   */
  async read({ signal }: AbortOptions = {}): Promise<Buffer | undefined> {
    for (;;) {
      signal?.throwIfAborted();
      if (this.#released) throw new EnvportError("closed", "Cannot read on as the stream was released");
      if (this.#lost.signal.aborted) throw this.#lost.signal.reason as EnvportError;
      const line = this.#reader.next();
      if (line !== undefined) return line;
      if (this.#ended) return this.#reader.last();
      await this.#arrival(signal);
    }
  }

  /** Resolves once something may have changed. */
  async #arrival(signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#wake = undefined;
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.#wake = wake;
      signal?.addEventListener("abort", wake, { once: true });
      this.stream.resume();
    });
  }

  /**
   * Stops reading lines; a read that waits rejects. Frames must have been written before. The caller must listen to the stream, for `error` too, before it
   * yields to the event loop.
   *
   * @returns The stream, and the bytes that belong to whatever follows the last line (FRAME-3).
   */
  release(): ReleasedStream {
    const { stream } = this;
    this.#released = true;
    this.#wake?.();
    stream.pause();
    stream.beginBytes?.();
    stream
      .off("data", this.#onData)
      .off("end", this.#onEnd)
      .off("error", this.#onError)
      .off("close", this.#onClose);
    return { stream, head: this.#reader.release(), ended: this.#ended };
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#reader.push(chunk);
    if (this.#wake) {
      this.#wake();
      return;
    }
    const { bufferedBytes, bufferedChunks } = this.#reader;
    if (bufferedBytes >= PAUSE_BYTES || bufferedChunks >= PAUSE_CHUNKS) this.stream.pause();
  };

  readonly #onEnd = (): void => {
    if (wasReset(this.stream)) {
      this.stream.destroy();
      return;
    }
    this.#ended = true;
    this.#wake?.();
  };

  readonly #onError = (): void => {
    // `close` follows and says what it means.
  };

  readonly #onClose = (): void => {
    if (!this.#ended || this.stream.errored) {
      const cause = this.stream.errored;
      this.#lost.abort(
        new EnvportError(
          "connection-lost",
          "Cannot go on as the connection was lost",
          cause ? { cause } : {},
        ),
      );
    }
    this.#wake?.();
  };
}
