import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { Slot } from "./_slots.ts";

const CHUNK_BYTES = 65_536;

/**
 * A connection into the sandbox, over two pipes that the spawn server splices to a socket. Both directions end
 * independently, as a socket with `allowHalfOpen` does; a reset inside arrives as an `ECONNRESET` error.
 */
export class SlotStream extends Duplex {
  readonly #to: Socket;
  readonly #from: Socket;

  constructor({ to, from, errors }: Slot) {
    super({ allowHalfOpen: true, readableHighWaterMark: CHUNK_BYTES, writableHighWaterMark: CHUNK_BYTES });
    closeSync(errors);
    this.#to = new Socket({ fd: to, readable: false, writable: true });
    this.#from = new Socket({ fd: from, readable: true, writable: false });
    this.#from.pause();
    this.#from.on("data", (chunk) => {
      if (!this.push(chunk)) this.#from.pause();
    });
    this.#from.on("end", () => this.push(null));
    this.#from.on("error", (error) => this.destroy(error));
    // The reader inside is gone: what the other direction still brings is worth reading.
    this.#to.on("error", () => {});
  }

  /** The connection inside is closed; a clean close shows as the end of its pipe. */
  over(reset: boolean): void {
    if (reset)
      this.destroy(Object.assign(new Error("the connection inside was reset"), { code: "ECONNRESET" }));
  }

  override _read(): void {
    this.#from.resume();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#to.write(chunk, encoding, (error) => callback(error));
  }

  override _final(callback: () => void): void {
    this.#to.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#to.destroy();
    this.#from.destroy();
    callback(error);
  }
}
