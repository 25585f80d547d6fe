import net from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { resetStream, wasReset } from "@envport/wire";
import { Mismatch } from "./_mismatch.ts";
import type { Patience } from "./_patience.ts";
import { within } from "./_patience.ts";

/** How the other side's direction ended. */
export type Ending = "end" | "reset";

/** Where a control port is. */
export interface Address {
  host: string;
  port: number;
}

const NEWLINE = 0x0a;

/**
 * A TCP connection that does exactly what it is told: bytes in any pieces, FIN, RST; and that hands out what came as
 * lines or bytes. It knows nothing of frames.
 */
export class RawConnection {
  /** What was written last, for the reason of a failure. */
  lastSent = "nothing";
  readonly #socket: net.Socket;
  readonly #patience: Patience;
  #chunks: Buffer[] = [];
  #ending: Ending | undefined;
  #wake: (() => void) | undefined;

  /**
   * @param socket A connected socket that nothing has read from, made with `allowHalfOpen`.
   * @param patience How long to wait for what must come.
   */
  constructor(socket: net.Socket, patience: Patience) {
    this.#socket = socket;
    this.#patience = patience;
    socket
      .on("data", (chunk: Buffer) => {
        this.#chunks.push(chunk);
        this.#wake?.();
      })
      .on("error", () => {
        // `close` follows.
      })
      // Node up to 22 reports a reset that comes behind data as an end.
      .on("end", () => {
        this.#finish(wasReset(socket) ? "reset" : "end");
      })
      .on("close", () => {
        this.#finish("reset");
      });
  }

  /**
   * Connects; small writes leave at once, and an end of the other side does not end this one.
   *
   * @param address Where to.
   * @param patience How long to wait for the connection, and for what must come on it.
   * @throws {Mismatch} If nobody listens there.
   */
  static async connect({ host, port }: Address, patience: Patience): Promise<RawConnection> {
    const socket = net.connect({ host, port, allowHalfOpen: true, noDelay: true });
    const raw = new RawConnection(socket, patience);
    const wanted = { sent: `a connection to ${host}:${String(port)}`, expected: "it to be accepted" };
    const connected = new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve).once("error", (error: NodeJS.ErrnoException) => {
        reject(new Mismatch({ ...wanted, got: error.code ?? error.message }));
      });
    });
    connected.catch(() => {});
    try {
      await within(connected, patience, wanted);
    } catch (error) {
      socket.destroy();
      throw error;
    }
    return raw;
  }

  /** How the other side's direction has ended; undefined while it is open. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** Bytes that came and have not been taken. */
  get waiting(): number {
    return this.#chunks.reduce((sum, { length }) => sum + length, 0);
  }

  /** Writes in one piece. */
  write(data: string | Uint8Array): void {
    this.lastSent = describeBytes(data);
    if (this.#socket.writable) this.#socket.write(data);
  }

  /**
   * Writes in small pieces, each in a packet of its own.
   *
   * @param data What to write.
   * @param size Bytes of a piece.
   */
  async writeSlowly(data: string | Uint8Array, size = 1): Promise<void> {
    const bytes = Buffer.from(data);
    for (let start = 0; start < bytes.length; start += size) {
      if (this.#socket.writable) this.#socket.write(bytes.subarray(start, start + size));
      await nextTurn();
    }
    this.lastSent = `${describeBytes(bytes)} in pieces of ${String(size)}`;
  }

  /**
   * Writes as long as the other side takes it.
   *
   * @param chunk What to write again and again.
   * @param max When to give up, in bytes.
   * @param stallMs How long nothing may move before that counts as a stall.
   * @returns How many bytes were written, those that wait in this process included.
   */
  async writeUntilStall(chunk: Uint8Array, max: number, stallMs: number): Promise<number> {
    let written = 0;
    while (written < max && !this.#socket.destroyed) {
      written += chunk.length;
      if (this.#socket.write(chunk)) continue;
      const drained = new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => {
          resolve(false);
        }, stallMs);
        this.#socket.once("drain", () => {
          clearTimeout(timer);
          resolve(true);
        });
      });
      if (!(await drained)) break;
    }
    this.lastSent = `${String(written)} bytes while nobody reads`;
    return written;
  }

  /** Resolves when the operating system has taken everything that was written. */
  async flushed(): Promise<void> {
    if (!this.#socket.writable) return;
    await new Promise<void>((resolve) => this.#socket.write("", () => resolve()));
  }

  /** Stops reading, so that the other side meets a full window. */
  pause(): void {
    this.#socket.pause();
  }

  /** Reads on. */
  resume(): void {
    this.#socket.resume();
  }

  /** Ends this direction: FIN. */
  end(): void {
    this.lastSent += ", then FIN";
    this.#socket.end();
  }

  /** Closes the socket as a program that ends does: FIN, and what still comes is answered by a reset. */
  destroy(): void {
    this.lastSent += ", then the connection was closed";
    this.#socket.destroy();
  }

  /** Resets the connection: RST. */
  reset(): void {
    this.lastSent += ", then RST";
    resetStream(this.#socket, { flushTimeout: 0 });
  }

  /**
   * Takes the next line, without its newline.
   *
   * @param expected What it is, for the reason of a failure.
   * @returns The line; undefined if the stream ended before, an unfinished line left aside.
   */
  async line(expected: string): Promise<Buffer | undefined> {
    for (let seen = 0; ;) {
      const index = this.#chunks.findIndex((chunk, position) => position >= seen && chunk.includes(NEWLINE));
      if (index >= 0) {
        const before = this.#chunks.slice(0, index).reduce((sum, { length }) => sum + length, 0);
        const bytes = before + this.#chunks[index]!.indexOf(NEWLINE);
        return this.#take(bytes + 1).subarray(0, bytes);
      }
      seen = this.#chunks.length;
      if (this.#ending !== undefined) return undefined;
      await this.#arrival(expected);
    }
  }

  /**
   * Takes an exact number of bytes.
   *
   * @param count How many.
   * @param expected What they are, for the reason of a failure.
   * @throws {Mismatch} If the stream ends before.
   */
  async bytes(count: number, expected: string): Promise<Buffer> {
    while (this.waiting < count) {
      if (this.#ending !== undefined) throw this.mismatch(expected, this.describeEnd());
      await this.#arrival(expected);
    }
    return this.#take(count);
  }

  /**
   * Waits for the other side's end and takes everything before it.
   *
   * @param expected What must come, for the reason of a failure.
   */
  async rest(expected: string): Promise<{ bytes: Buffer; ending: Ending }> {
    while (this.#ending === undefined) await this.#arrival(expected);
    return { bytes: this.#take(this.waiting), ending: this.#ending };
  }

  /** What a check that failed says, with what was written last. */
  mismatch(expected: string, got: string): Mismatch {
    return new Mismatch({ sent: this.lastSent, expected, got });
  }

  /** How the stream ended, and what of a line came before. */
  describeEnd(): string {
    const rest = this.waiting === 0 ? "" : `${this.#take(this.waiting).toString()}, then `;
    return rest + (this.#ending === "end" ? "the end of the connection" : "a reset");
  }

  #take(count: number): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = all.length > count ? [all.subarray(count)] : [];
    return all.subarray(0, count);
  }

  /** Resolves when something has come. */
  async #arrival(expected: string): Promise<void> {
    const arrival = new Promise<void>((resolve) => (this.#wake = resolve));
    await within(arrival, this.#patience, { sent: this.lastSent, expected });
  }

  #finish(ending: Ending): void {
    this.#ending ??= ending;
    this.#wake?.();
  }
}

/** Text as it is, and how many bytes it is if it is none. */
function describeBytes(data: string | Uint8Array): string {
  const text = typeof data === "string" ? data : Buffer.from(data).toString();
  return /^[^\x00-\x08\x0e-\x1f\ufffd]*$/.test(text) ? text : `${String(data.length)} bytes`;
}
