import { EnvportError } from "@envport/wire";
import { InputState } from "./_input_queue.ts";
import type { RfbTarget } from "./_rfb_target.ts";
import { openSession } from "./_session.ts";
import type { Session, SessionListener, SessionOptions } from "./_session.ts";

/** A connection and what is pressed on it. */
export interface LiveSession {
  readonly session: Session;
  readonly input: InputState;
}

/** The connection to a server, made again when it is needed and gone. */
export class Link {
  readonly #target: RfbTarget;
  readonly #options: Omit<SessionOptions, "signal">;
  readonly #listener: SessionListener;
  #opening: Promise<LiveSession> | undefined;
  #live: LiveSession | undefined;
  #closed = false;

  /** @param listener Hears every event of every session. */
  constructor(target: RfbTarget, options: Omit<SessionOptions, "signal">, listener: SessionListener) {
    this.#target = target;
    this.#options = options;
    this.#listener = listener;
  }

  /**
   * The latest session, whether it is still there or not.
   *
   * @throws {EnvportError} `closed`
   */
  get current(): LiveSession {
    if (this.#live && !this.#closed) return this.#live;
    throw closed();
  }

  /** Whether there is a connection. */
  get connected(): boolean {
    return !this.#closed && this.#live?.session.lost.aborted === false;
  }

  /** The session to work with. */
  async ready(signal: AbortSignal | undefined): Promise<LiveSession> {
    if (this.#closed) throw closed();
    if (this.#live && this.connected) return this.#live;
    this.#opening ??= this.#open(signal).finally(() => (this.#opening = undefined));
    return await this.#opening;
  }

  async #open(signal: AbortSignal | undefined): Promise<LiveSession> {
    const pointer = { x: 0, y: 0 };
    const session = await openSession(this.#target, { ...this.#options, signal }, (event) => {
      if (event.type === "pointer") [pointer.x, pointer.y] = [event.x, event.y];
      this.#listener(event);
    });
    if (this.#closed) {
      await session.close();
      throw closed();
    }
    const input = new InputState(session, pointer);
    // Servers leave down what a lost connection had pressed.
    input.liftModifiers();
    return (this.#live = { session, input });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#opening?.catch(() => undefined);
    if (!this.#live) return;
    const { session, input } = this.#live;
    this.#live = undefined;
    if (!session.lost.aborted) input.release();
    await session.close();
  }
}

function closed(): EnvportError {
  return new EnvportError("closed", "Cannot use screen as its client is closed");
}
