import { EnvportError } from "@envport/wire";
import { ByteQueue } from "./_byte_queue.ts";
import type { Parse } from "./_byte_queue.ts";
import * as message from "./_client_messages.ts";
import type { DesktopScreen } from "./_client_messages.ts";
import { Framebuffer } from "./_framebuffer.ts";
import { handshake } from "./_handshake.ts";
import { providedText, readClipboard } from "./_read_clipboard.ts";
import type { RfbEvent, ServerAbilities } from "./_rfb_event.ts";
import { UpdateReader } from "./_update_reader.ts";
import { violation } from "./_violation.ts";
import type { Rect } from "./rect.ts";

/** What the core is made with. */
export interface RfbCoreOptions {
  readonly password?: string | undefined;
  /** The encodings to ask for; called once, at the end of the handshake. */
  readonly encodings: () => readonly number[];
  /** Called for each event, in order; must not call back into the core's `receive`. */
  readonly emit: (event: RfbEvent) => void;
}

const FENCE_REQUEST = 0x80000000;
/** The flags of a fence that we know: block before, block after, sync next. */
const FENCE_KNOWN = 7;
const MAX_FENCE = 64;
const { caps, notify, peek, provide, request, text } = message.ClipboardFlag;

/**
 * The client's side of RFB 3.8 without input and output: bytes go in, events come out, and the screen is kept. The same
 * bytes make the same events, however they are cut into chunks.
 */
export class RfbCore {
  readonly screen: Framebuffer = new Framebuffer();
  readonly abilities: ServerAbilities = {
    fence: false,
    continuousUpdates: false,
    extendedDesktopSize: false,
    qemuKey: false,
    extendedClipboard: 0,
    clipboardBytes: 0,
    identity: "",
  };
  /** The desktop's name. */
  name: string = "";
  /** The desktop's screens, as it has told them. */
  screens: readonly DesktopScreen[] = [];
  readonly #queue = new ByteQueue();
  readonly #options: RfbCoreOptions;
  readonly #updates: UpdateReader;
  readonly #parse: Parse;
  #need = 0;
  #failure: EnvportError | undefined;
  #continuous = false;
  /** Pixels told since the whole screen was asked for. */
  #painted = 0;
  #complete = false;
  /** What we have copied, for a server that asks for it. */
  #offered: string | undefined;

  constructor(options: RfbCoreOptions) {
    this.#options = options;
    this.#updates = new UpdateReader(this.#queue, this, options.emit);
    this.#parse = this.#run();
    this.#step();
  }

  /** Whether every pixel has been told. */
  get complete(): boolean {
    return this.#complete;
  }

  /**
   * Takes bytes from the server.
   *
   * @param chunk Not kept: its memory may be used again.
   * @throws {EnvportError} `protocol-violation`, `authentication-failed`, `unsupported`; from then on always the same.
   */
  receive(chunk: Buffer): void {
    if (this.#failure) throw this.#failure;
    this.#queue.push(chunk);
    try {
      while (this.#queue.available >= this.#need) this.#step();
    } catch (error) {
      this.#failure =
        error instanceof EnvportError ? error : violation("its values make sense", (error as Error).message);
      throw this.#failure;
    }
    this.#queue.settle();
  }

  /** Asks for the whole screen again, whether it has changed or not. */
  refresh(): void {
    this.#painted = 0;
    this.#request(false);
  }

  /** Offers text to the server, in the way that it understands; `encoded` is for one without the extended clipboard. */
  offerClipboard(content: string, encoded: Buffer | undefined): void {
    this.#offered = content;
    if (encoded) this.#send(message.cutText(encoded));
    else this.#send(message.extendedCutText(notify | text));
  }

  #step(): void {
    const { value } = this.#parse.next();
    this.#need = value ?? Infinity;
  }

  #send(data: Buffer): void {
    this.#options.emit({ type: "send", data });
  }

  *#run(): Parse {
    const queue = this.#queue;
    const { password, emit, encodings } = this.#options;
    const init = yield* handshake({ queue, password, send: (data) => this.#send(data) });
    this.name = init.name;
    this.screen.resize(init.width, init.height);
    this.#send(message.setPixelFormat());
    this.#send(message.setEncodings(encodings()));
    emit({ type: "ready" });
    this.refresh();
    for (;;) {
      if (queue.available < 1) yield 1;
      yield* this.#message(queue.u8());
    }
  }

  *#message(type: number): Parse {
    if (type === 0) yield* this.#update();
    else if (type === 1) yield* this.#skipColours();
    else if (type === 2) this.#options.emit({ type: "bell" });
    else if (type === 3) yield* this.#clipboard();
    else if (type === 150) this.#endOfContinuousUpdates();
    else if (type === 248) yield* this.#fence();
    else throw violation("a server's message is of a known type", type);
  }

  /** SetColourMapEntries, which are of no use with true colour. */
  *#skipColours(): Parse {
    const queue = this.#queue;
    if (queue.available < 5) yield 5;
    queue.offset += 3;
    const length = queue.u16() * 6;
    if (queue.available < length) yield length;
    queue.offset += length;
  }

  *#update(): Parse {
    const { rects, pixels, resized } = yield* this.#updates.read();
    const { width, height } = this.screen;
    if (resized) {
      this.#complete = false;
      this.#painted = 0;
      if (this.#continuous) this.#enableContinuous();
    } else if (!this.#complete) {
      this.#painted += pixels;
      this.#complete = this.#painted >= width * height;
      if (this.#complete) this.#options.emit({ type: "complete" });
    }
    // A first update may hold nothing but pseudo rectangles, so "asked for" is not "told".
    if (this.#painted === 0) this.#request(false);
    else if (!this.#continuous) this.#request(true);
    if (rects.length > 0) this.#options.emit({ type: "update", rects });
  }

  #request(incremental: boolean): void {
    this.#send(message.updateRequest(incremental, this.#area));
  }

  get #area(): Rect {
    const { width, height } = this.screen;
    return { x: 0, y: 0, width, height };
  }

  #enableContinuous(): void {
    this.#continuous = true;
    this.#send(message.continuousUpdates(true, this.#area));
  }

  /** The first one says that the server can do it, a later one that it has stopped. */
  #endOfContinuousUpdates(): void {
    const first = !this.abilities.continuousUpdates;
    this.abilities.continuousUpdates = true;
    this.#continuous = false;
    if (first) this.#enableContinuous();
    else this.#request(true);
  }

  *#fence(): Parse {
    const queue = this.#queue;
    if (queue.available < 8) yield 8;
    queue.offset += 3;
    const flags = queue.u32();
    const length = queue.u8();
    if (length > MAX_FENCE) throw violation("a fence has at most 64 bytes", length);
    if (queue.available < length) yield length;
    const payload = queue.take(length);
    this.abilities.fence = true;
    if (flags & FENCE_REQUEST) this.#send(message.clientFence(flags & FENCE_KNOWN, payload));
    else this.#options.emit({ type: "fence", payload });
  }

  *#clipboard(): Parse {
    const received = yield* readClipboard(this.#queue);
    if ("text" in received) this.#options.emit({ type: "clipboard", text: received.text });
    else this.#extendedClipboard(received.flags, received.body);
  }

  #extendedClipboard(flags: number, body: Buffer): void {
    const { abilities } = this;
    if (flags & caps) {
      abilities.extendedClipboard = flags;
      abilities.clipboardBytes = flags & text && body.length >= 4 ? body.readUInt32BE(0) : 0;
      this.#send(message.clipboardCaps());
    } else if (flags & notify) {
      if (flags & text) this.#send(message.extendedCutText(request | text));
    } else if (flags & request) this.#send(message.clipboardProvide(this.#offered ?? ""));
    else if (flags & peek)
      this.#send(message.extendedCutText(this.#offered === undefined ? notify : notify | text));
    else if (flags & provide && flags & text) {
      const provided = providedText(body);
      if (provided !== undefined) this.#options.emit({ type: "clipboard", text: provided });
    }
  }
}
