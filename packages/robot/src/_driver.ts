import type { WebSocket } from "ws";
import type { PooledFrame } from "./_frame_pool.ts";

/** How long an agent that is sent away may take to say good-bye, in milliseconds. */
const CLOSE_MS = 1_000;
/** RFC 6455, section 7.4.1. */
export const CLOSE = { normal: 1000, goingAway: 1001, internal: 1011 } as const;

/** An agent's connection, from the side of the environment. */
export class Driver {
  /** What it drives. */
  slot: number | undefined;
  readonly #ws: WebSocket;
  #sending = false;
  #next: { frame: PooledFrame; last: boolean } | undefined;
  #ended = false;

  constructor(ws: WebSocket) {
    this.#ws = ws;
  }

  /** Whether nothing more is read from it. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Sends a frame. One at a time is under way: an agent that does not read gets the newest one later, and holds no memory
   * meanwhile; but the last one of an episode is never replaced.
   */
  send(frame: PooledFrame, last = false): void {
    if (this.#ended) return;
    if (!this.#sending) this.#write(frame.retain());
    else if (!this.#next?.last) {
      this.#next?.frame.release();
      this.#next = { frame: frame.retain(), last };
    }
  }

  #write(frame: PooledFrame): void {
    this.#sending = true;
    this.#ws.send(frame.bytes, { binary: true, compress: false }, () => {
      frame.release();
      this.#sending = false;
      const next = this.#next;
      this.#next = undefined;
      if (next) this.#write(next.frame);
    });
  }

  /** Sends it away, with a line that its program shows; peers take a text for an error. */
  refuse(text: string, code: number = CLOSE.internal): void {
    if (this.#ended) return;
    this.#ws.send(text);
    this.end(code);
  }

  /** Says good-bye. */
  end(code: number, reason = ""): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#next?.frame.release();
    this.#next = undefined;
    this.#ws.close(code, reason);
    const timer = setTimeout(() => this.#ws.terminate(), CLOSE_MS);
    this.#ws.once("close", () => clearTimeout(timer));
  }
}
