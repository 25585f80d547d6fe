import type { AbortOptions, Capability, PublishedCapability } from "@envport/wire";
import { copyFrame, drawPointer } from "./_copy_frame.ts";
import { InputQueue } from "./_input_queue.ts";
import { charactersOf, clipboardBytes, pasteText, pressChord, typeCharacters, unusual } from "./_keyboard.ts";
import { parseChord } from "./_keysyms.ts";
import { Link } from "./_link.ts";
import type { LiveSession } from "./_link.ts";
import { buttonMask, clickHere, dragTo, locate, scrollHere } from "./_pointer.ts";
import { pixelEncodings } from "./_pixel_encodings.ts";
import type { PointerShape } from "./_pointer_shape.ts";
import { resizeDesktop } from "./_resize_desktop.ts";
import type { RfbEvent } from "./_rfb_event.ts";
import { rfbTarget } from "./_rfb_target.ts";
import type { RfbTarget } from "./_rfb_target.ts";
import { regionOf } from "./_space.ts";
import type { Space } from "./_space.ts";
import { takeScreenshot } from "./_take_screenshot.ts";
import { followUpdates } from "./_updates.ts";
import { watchForChange, watchForSettle } from "./_watch.ts";
import type { Frame } from "./frame.ts";
import type {
  ClickOptions,
  DragOptions,
  FrameOptions,
  PointerButton,
  PressOptions,
  RfbConnectOptions,
  ScreenshotOptions,
  ScrollOptions,
  SettleOptions,
  SpaceOptions,
  TypeOptions,
  WaitOptions,
} from "./rfb_client_options.ts";
import type { ScreenUpdate } from "./screen_update.ts";
import type { Screenshot } from "./screenshot.ts";

const READY_TIMEOUT = 20_000;
const WAIT_TIMEOUT = 10_000;
const QUIET = 150;

/**
 * A screen on a server of the family `rfb`: pixels out, pointer and keys in.
 *
 * Coordinates are pixels of the latest screenshot of the whole screen, so that a model's answer can be used as it is.
 * Input goes through one queue; whatever a call presses is lifted when it ends, also by an error or a signal.
 *
 * ```text
 * connected ── the connection is lost ─▶ what was under way fails with `connection-lost`
 *     │                                    └─ the next call ─▶ connected, with nothing pressed
 *     └── close() ─▶ closed, with nothing pressed
 * ```
 *
 * @example
 * ```ts no-run
 * import { connect } from "@envport/client";
 * import { rfb } from "@envport/rfb";
 *
 * await using client = await connect("tcp://127.0.0.1:8765");
 * const screen = await client.open(rfb);
 * const { data } = await screen.screenshot({ scale: { maxWidth: 1024, maxHeight: 768 } });
 * await screen.click(512, 384);
 * await screen.type("Grüße 漢字\n");
 * ```
 */
export class RfbClient implements AsyncDisposable {
  readonly #target: RfbTarget;
  readonly #encoder: "sharp" | "own" | undefined;
  readonly #link: Link;
  readonly #queue = new InputQueue();
  /** Characters that the server has made keys for. */
  readonly #typed = new Set<string>();
  #generation = 0;
  #space: Space | undefined;
  #cursor: PointerShape | undefined;
  #clipboard: string | undefined;

  private constructor(target: RfbTarget, options: RfbConnectOptions) {
    const { readyTimeout = READY_TIMEOUT, imageEncoder } = options;
    this.#target = target;
    this.#encoder = imageEncoder;
    this.#link = new Link(target, { readyTimeout, encodings: pixelEncodings(options) }, (event) =>
      this.#heard(event),
    );
  }

  /**
   * Connects, logs in, and waits for the first whole screen.
   *
   * @param capability A binding whose url can be dialled from here, or what a service of this process publishes.
   * @param options Encodings, the time allowed.
   * @throws {EnvportError} `authentication-failed` If the password is missing or wrong; `unsupported` If the server
   *   insists on another way to log in; `timeout`, `connection-lost`, `protocol-violation`, `invalid-value`
   */
  static async connect(
    capability: Capability | PublishedCapability,
    options: RfbConnectOptions = {},
  ): Promise<RfbClient> {
    const client = new RfbClient(rfbTarget(capability), options);
    await client.#link.ready(options.signal);
    return client;
  }

  /**
   * The screen's size in pixels, as the server has told it last.
   *
   * @throws {EnvportError} `closed`; so do the next ones.
   */
  get size(): { readonly width: number; readonly height: number } {
    const { width, height } = this.#link.current.session.core.screen;
    return { width, height };
  }

  /** The desktop's name. */
  get name(): string {
    return this.#link.current.session.core.name;
  }

  /** Where the pointer is on the screen, as far as this client knows: where it, or a server that tells, has moved it. */
  get pointer(): { readonly x: number; readonly y: number } {
    const { x, y } = this.#link.current.input;
    return { x, y };
  }

  /** How many updates there were. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * The pixels as they are.
   *
   * @param options The part of the screen; whether to draw the pointer.
   * @throws {RangeError} If the region does not lie on the screen.
   */
  async frame(options: FrameOptions = {}): Promise<Frame> {
    const { region, pointer = false, fresh = true, signal } = options;
    const { session, input } = await this.#live(signal);
    if (fresh) await session.barrier({ signal });
    if (!session.core.complete) await session.ready(signal);
    const { screen } = session.core;
    const frame = copyFrame(screen, regionOf(screen, region), this.#generation);
    if (pointer && this.#cursor) drawPointer(frame, this.#cursor, input);
    return frame;
  }

  /**
   * An image of the screen. One of the whole screen is from now on what coordinates are measured in.
   *
   * @param options The format, the scale, the part of the screen, a limit in bytes.
   * @throws {EnvportError} `unsupported` If the format needs the package `sharp`, and it is not installed.
   */
  async screenshot(options: ScreenshotOptions = {}): Promise<Screenshot> {
    const frame = await this.frame(options);
    const shot = await takeScreenshot(frame, options, this.#encoder);
    if (options.region === undefined) this.#space = shot;
    return shot;
  }

  /**
   * What changes, as it does; updates that come faster than they are taken are joined.
   *
   * @throws {EnvportError} `connection-lost`
   */
  updates(options: AbortOptions = {}): AsyncGenerator<ScreenUpdate, void, void> {
    const open = (): Promise<LiveSession> => this.#live(options.signal);
    return followUpdates(open, () => this.#generation, options.signal);
  }

  /** Moves the pointer. */
  async move(x: number, y: number, options: SpaceOptions = {}): Promise<void> {
    await this.#at(x, y, options, () => undefined);
  }

  /**
   * Clicks.
   *
   * @throws {RangeError} If the place lies outside; so do the next ones.
   */
  async click(x: number, y: number, options: ClickOptions = {}): Promise<void> {
    await this.#at(x, y, options, (live) => clickHere(live, options));
  }

  /** Clicks twice. */
  async doubleClick(x: number, y: number, options: ClickOptions = {}): Promise<void> {
    await this.click(x, y, { ...options, count: 2 });
  }

  /** Drags from one place to another, in steps as a hand would. */
  async drag(
    from: { readonly x: number; readonly y: number },
    to: { readonly x: number; readonly y: number },
    options: DragOptions = {},
  ): Promise<void> {
    await this.#at(from.x, from.y, options, (live) =>
      dragTo(live, locate(live, this.#spaceOf(options), to.x, to.y), options),
    );
  }

  /** Turns the wheel, in either direction or both. */
  async scroll(x: number, y: number, options: ScrollOptions): Promise<void> {
    await this.#at(x, y, options, (live) => scrollHere(live, options));
  }

  /** Presses a button and keeps it down until `mouseUp` or `close`. */
  async mouseDown(
    x: number,
    y: number,
    options: SpaceOptions & { button?: PointerButton } = {},
  ): Promise<void> {
    await this.#at(x, y, options, ({ input }) => input.button(buttonMask(options.button ?? "left"), true));
  }

  /** Lets a button go. */
  async mouseUp(
    x: number,
    y: number,
    options: SpaceOptions & { button?: PointerButton } = {},
  ): Promise<void> {
    await this.#at(x, y, options, ({ input }) => input.button(buttonMask(options.button ?? "left"), false));
  }

  /**
   * Presses a chord: `"ctrl+shift+t"`, `"Return"`, `"F5"`, `"+"`.
   *
   * @param keys Characters and names of keys, in any of the usual spellings, joined by `+`.
   * @throws {TypeError} If one is no key.
   */
  async press(keys: string, options: PressOptions = {}): Promise<void> {
    const keysyms = parseChord(keys);
    await this.#input(options.signal, (live) => pressChord(live, keysyms, options));
  }

  /**
   * Types text into the window that has the focus. It arrives as it is, or the call fails.
   *
   * @param text Any Unicode; line ends and tabs are keys.
   * @param options By keys or by the clipboard.
   * @throws {TypeError} If it holds a control character that no key stands for.
   * @throws {EnvportError} `unsupported` If the server can make too few keys, and cannot take it by the clipboard.
   */
  async type(text: string, options: TypeOptions = {}): Promise<void> {
    const { via = "auto", pasteKeys = "shift+insert", signal } = options;
    const characters = charactersOf(text);
    const chord = parseChord(pasteKeys);
    if (characters.length === 0) return;
    await this.#input(signal, async (live) => {
      const needed = unusual(characters);
      const all = new Set([...this.#typed, ...needed]);
      if (via === "keys" || (via === "auto" && all.size <= this.#target.keyBudget) || needed.size === 0) {
        for (const character of needed) this.#typed.add(character);
        await typeCharacters(live, characters, signal);
        return;
      }
      await pasteText(live, text, chord, signal);
    });
  }

  /** What was copied last on the screen, as far as the server has told; undefined before. */
  get clipboard(): string | undefined {
    return this.#clipboard;
  }

  /**
   * Puts text on the screen's clipboard.
   *
   * @throws {EnvportError} `unsupported` If the server cannot take it whole.
   */
  async writeClipboard(text: string, options: AbortOptions = {}): Promise<void> {
    await this.#input(options.signal, async (live) => {
      live.session.core.offerClipboard(text, clipboardBytes(live, text));
      await live.session.barrier(options);
    });
  }

  /**
   * The next text that is copied on the screen.
   *
   * @throws {EnvportError} `timeout`
   */
  async waitForClipboard(options: Omit<WaitOptions, "region"> = {}): Promise<string> {
    const { timeout = WAIT_TIMEOUT, signal } = options;
    const { session } = await this.#live(signal);
    const event = await session.until(
      { what: "read clipboard", timeout, signal },
      ({ type }) => type === "clipboard",
    );
    return (event as RfbEvent & { type: "clipboard" }).text;
  }

  /**
   * Waits until pixels differ from those of a frame.
   *
   * @param options What to compare with; where to look.
   * @throws {EnvportError} `timeout`
   */
  async waitForChange(options: WaitOptions & { since?: Frame | undefined } = {}): Promise<void> {
    const { timeout = WAIT_TIMEOUT, signal } = options;
    const live = await this.#live(signal);
    await watchForChange(live.session, options.since ?? this.#snapshot(live, options), { timeout, signal });
  }

  /**
   * Waits until nothing has changed for a while.
   *
   * @throws {EnvportError} `timeout` If it never stops.
   */
  async waitForSettle(options: SettleOptions = {}): Promise<void> {
    const { timeout = WAIT_TIMEOUT, quiet = QUIET, ignore = [], signal } = options;
    const { session } = await this.#live(signal);
    const region = regionOf(session.core.screen, options.region);
    await watchForSettle(session, { timeout, quiet, ignore, signal, region });
  }

  /** Waits until the server has seen all input so far. */
  async barrier(options: AbortOptions = {}): Promise<void> {
    await this.#input(options.signal, ({ session }) => session.barrier(options));
  }

  /**
   * Makes the screen another size.
   *
   * @throws {EnvportError} `unsupported` If the server cannot, or does not want to.
   */
  async resize(width: number, height: number, options: AbortOptions = {}): Promise<void> {
    const { session } = await this.#live(options.signal);
    await resizeDesktop(session, width, height, options.signal);
  }

  /** Lifts all keys and buttons and ends the connection. Idempotent. */
  async close(): Promise<void> {
    await this.#link.close();
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #live(signal: AbortSignal | undefined): Promise<LiveSession> {
    signal?.throwIfAborted();
    return await this.#link.ready(signal);
  }

  #input<T>(signal: AbortSignal | undefined, work: (live: LiveSession) => Promise<T>): Promise<T> {
    return this.#queue.run(signal, async () => await work(await this.#live(signal)));
  }

  /** Moves the pointer, then does something there. */
  async #at(
    x: number,
    y: number,
    options: SpaceOptions,
    work: (live: LiveSession) => unknown,
  ): Promise<void> {
    const space = this.#spaceOf(options);
    await this.#input(options.signal, async (live) => {
      live.input.move(...locate(live, space, x, y));
      await work(live);
    });
  }

  #spaceOf({ on }: SpaceOptions): Space | undefined {
    return on === "screen" ? undefined : (on ?? this.#space);
  }

  #snapshot({ session }: LiveSession, { region }: WaitOptions): Frame {
    const { screen } = session.core;
    return copyFrame(screen, regionOf(screen, region), this.#generation);
  }

  #heard(event: RfbEvent): void {
    if (event.type === "update" || event.type === "resize") this.#generation++;
    else if (event.type === "cursor") this.#cursor = event.cursor;
    else if (event.type === "clipboard") this.#clipboard = event.text;
  }
}
