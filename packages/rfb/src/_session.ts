import { EnvportError } from "@envport/wire";
import type { AbortOptions } from "@envport/wire";
import { setMaxListeners } from "node:events";
import { connect } from "node:net";
import type { NetConnectOpts, Socket } from "node:net";
import { clientFence, setEncodings, updateRequest } from "./_client_messages.ts";
import { Encoding } from "./_encodings.ts";
import { RfbCore } from "./_rfb_core.ts";
import type { RfbEvent } from "./_rfb_event.ts";
import { describeAddress } from "./_rfb_target.ts";
import type { RfbTarget, ServerKind } from "./_rfb_target.ts";
import { bounded } from "./_timing.ts";
import { violation } from "./_violation.ts";

/** Options of {@linkcode openSession}. */
export interface SessionOptions extends AbortOptions {
  /** From the dial to the first whole screen, in milliseconds. */
  readonly readyTimeout: number;
  /** The encodings to ask for, or undefined for those that suit the distance. */
  readonly encodings: readonly number[] | undefined;
}

/** What a session tells beside the core's events. */
export type SessionListener = (event: RfbEvent) => void;

const READ_BYTES = 256 * 1024;
const BARRIER_MS = 10_000;
const CLOSE_MS = 2_000;
/** Nearer than this, in milliseconds there and back, pixels are faster than what compresses them. */
const NEAR_MS = 5;
const NEAR = [Encoding.copyRect, Encoding.raw];
const FAR = [
  Encoding.copyRect,
  Encoding.tight,
  Encoding.zrle,
  Encoding.hextile,
  Encoding.raw,
  Encoding.compression + 1,
];
const PSEUDO = [
  Encoding.lastRect,
  Encoding.cursor,
  Encoding.pointerPosition,
  Encoding.desktopSize,
  Encoding.extendedDesktopSize,
  Encoding.desktopName,
  Encoding.fence,
  Encoding.continuousUpdates,
  Encoding.qemuKey,
  Encoding.serverIdentity,
];
const FENCE_REQUEST_BLOCK_BEFORE = 0x80000001;

/** A connection to a server, through its handshake: the core with a socket. */
export class Session {
  readonly core: RfbCore;
  readonly #socket: Socket;
  readonly #target: RfbTarget;
  readonly #options: SessionOptions;
  readonly #listeners = new Set<SessionListener>();
  readonly #lost = new AbortController();
  readonly #ended: Promise<void>;
  #failure: Error | undefined;
  #roundTrip = Infinity;
  #sentAt = 0;
  #fences = 0;
  #asked: readonly number[] = [];

  constructor(target: RfbTarget, options: SessionOptions) {
    this.#target = target;
    this.#options = options;
    setMaxListeners(0, this.#lost.signal);
    const { password } = target;
    this.core = new RfbCore({
      password,
      encodings: () => this.#encodings(),
      emit: (event) => this.#heard(event),
    });
    const onread = { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback: this.#receive };
    const socketOptions: NetConnectOpts = { ...target.address, noDelay: true, keepAlive: true, onread };
    this.#socket = connect(socketOptions);
    this.#socket.on("error", (error) => (this.#failure ??= this.#gone(error.message, error)));
    this.#socket.on("end", () => this.#socket.end());
    this.#ended = new Promise((resolve) => {
      this.#socket.once("close", () => {
        this.#lost.abort(this.#failure ?? this.#gone("the server closed it"));
        resolve();
      });
    });
  }

  /** Aborts, with an {@linkcode EnvportError} as its reason, when the connection is gone. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Which server it is, as the binding or the server itself says. */
  get kind(): ServerKind | undefined {
    if (this.#target.kind) return this.#target.kind;
    if (/x11vnc|libvncserver/i.test(this.core.abilities.identity)) return "x11vnc";
    return this.core.name.startsWith("QEMU") ? "qemu" : undefined;
  }

  /** Waits until the whole screen is there. */
  async ready(signal: AbortSignal | undefined): Promise<void> {
    const what = `connect to the VNC server at ${describeAddress(this.#target)}`;
    await this.until(
      { what, timeout: this.#options.readyTimeout, signal },
      (event) => event.type === "complete",
    );
  }

  /** Sends bytes; nothing is waited for. */
  send(data: Buffer): void {
    this.#sentAt = performance.now();
    if (this.#socket.writable) this.#socket.write(data);
  }

  /** Tells what happens, until the function returned is called. */
  listen(listener: SessionListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Waits for an event.
   *
   * @param bounds What is waited for, and how long.
   * @param matches Whether it is the one.
   * @param act Called once it is listened for.
   * @throws {EnvportError} `timeout`, `connection-lost`
   */
  async until(
    { what, timeout, signal }: { what: string; timeout: number; signal: AbortSignal | undefined },
    matches: (event: RfbEvent) => boolean,
    act?: () => void,
  ): Promise<RfbEvent> {
    return await bounded<RfbEvent>({ what, timeout, signals: [signal, this.lost] }, (resolve) => {
      const stop = this.listen((event) => {
        if (matches(event)) resolve(event);
      });
      act?.();
      return stop;
    });
  }

  /** Waits until the server has seen all that was sent, and has told what it knew by then. */
  async barrier({ signal }: AbortOptions = {}): Promise<void> {
    const bounds = { what: "synchronize with the VNC server", timeout: BARRIER_MS, signal };
    if (this.core.abilities.fence) {
      const payload = Buffer.from(`envport ${String(++this.#fences)}`);
      const matches = (event: RfbEvent): boolean => event.type === "fence" && event.payload.equals(payload);
      await this.until(bounds, matches, () => this.send(clientFence(FENCE_REQUEST_BLOCK_BEFORE, payload)));
      return;
    }
    // One update may be on its way; the second is an answer to the first request at the earliest.
    const pixel = updateRequest(false, { x: 0, y: 0, width: 1, height: 1 });
    for (let i = 0; i < 2; i++) {
      await this.until(
        bounds,
        ({ type }) => type === "update",
        () => this.send(pixel),
      );
    }
  }

  /** Sends what is left and ends. */
  async close(): Promise<void> {
    this.#failure ??= new EnvportError("closed", "Cannot use screen as its connection is closed");
    this.#socket.end();
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** Ends at once. */
  abort(reason: Error): void {
    this.#failure ??= reason;
    this.#socket.destroy();
  }

  #receive = (count: number, buffer: Uint8Array): boolean => {
    this.#roundTrip = Math.min(this.#roundTrip, performance.now() - this.#sentAt);
    try {
      this.core.receive(buffer.subarray(0, count) as Buffer);
    } catch (error) {
      this.abort(error as Error);
    }
    return !this.#socket.destroyed;
  };

  #heard(event: RfbEvent): void {
    if (event.type === "send") this.send(event.data);
    else if (event.type === "identity") this.#identified();
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        this.abort(violation("its listeners do not throw", (error as Error).message));
      }
    }
  }

  /** x11vnc says that it has the extended clipboard, and drops what comes by it: it is no longer asked for. */
  #identified(): void {
    if (this.kind !== "x11vnc" || !this.#asked.includes(Encoding.extendedClipboard)) return;
    this.#asked = this.#asked.filter((encoding) => encoding !== Encoding.extendedClipboard);
    this.send(setEncodings(this.#asked));
  }

  #encodings(): readonly number[] {
    const encodings = this.#options.encodings ?? (this.#roundTrip < NEAR_MS ? NEAR : FAR);
    this.#asked = [...encodings, ...PSEUDO, ...(this.kind === "x11vnc" ? [] : [Encoding.extendedClipboard])];
    return this.#asked;
  }

  #gone(reason: string, cause?: Error): EnvportError {
    const message = `Cannot go on as the connection to the VNC server at ${describeAddress(this.#target)} is lost: ${reason}`;
    return new EnvportError("connection-lost", message, { cause });
  }
}

/**
 * Connects, logs in, and waits for the first whole screen.
 *
 * @param listener Hears what happens from the first byte on.
 * @throws {EnvportError} `authentication-failed`, `unsupported`, `timeout`, `connection-lost`, `protocol-violation`
 */
export async function openSession(
  target: RfbTarget,
  options: SessionOptions,
  listener?: SessionListener,
): Promise<Session> {
  options.signal?.throwIfAborted();
  const session = new Session(target, options);
  if (listener) session.listen(listener);
  try {
    await session.ready(options.signal);
    return session;
  } catch (error) {
    session.abort(error as Error);
    throw error;
  }
}
