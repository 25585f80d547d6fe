import { EventEmitter } from "node:events";
import { EnvportError, unlessAborted } from "@envport/wire";
import { accessibilityTree } from "./_accessibility.ts";
import { evaluate } from "./_evaluate.ts";
import { click, press, scroll, type } from "./_input.ts";
import { IdleWatch, goto } from "./_navigation.ts";
import type { PageLink } from "./_page_link.ts";
import { screenshot } from "./_screenshot.ts";
import type { AccessibilityNode } from "./accessibility_node.ts";
import type { CdpDialog } from "./cdp_dialog.ts";
import type { CdpCommands, CdpEvents, CdpResult, CdpSendArguments, CdpSendOptions } from "./cdp_messages.ts";
import type {
  ClickOptions,
  EvaluateOptions,
  GotoOptions,
  IdleOptions,
  Point,
  ScreenshotOptions,
  ScrollOptions,
  TypeOptions,
} from "./cdp_page_options.ts";

const TIMEOUT_MS = 30_000;

/** What a page tells: every event of the protocol, once its domain is enabled, and these. */
export interface CdpPageEvents extends CdpEvents {
  /** It opened a dialog. With a listener here or on the client, answering is the listener's business. */
  dialog: [dialog: CdpDialog];
  /** Its renderer died. */
  crash: [];
  /** It is gone. */
  close: [];
}

/**
 * A page of the browser, or another target such as a frame or worker. It stays the same object when the connection is lost
 * and made anew.
 *
 * @example
 * ```ts no-run
 * import { connect } from "@envport/client";
 * import { cdp } from "@envport/cdp";
 * import { writeFile } from "node:fs/promises";
 *
 * await using client = await connect("tcp://127.0.0.1:8765");
 * const { page } = await client.open(cdp);
 * await page.goto("http://shop.localhost:8080/");
 * await page.type("tea\n", { into: "input[name=q]" });
 * await page.waitForIdle();
 * await writeFile("page.png", await page.screenshot());
 * ```
 */
export class CdpPage extends EventEmitter<CdpPageEvents> {
  readonly #link: PageLink;
  readonly #idle: IdleWatch;

  /** @internal */
  constructor(link: PageLink) {
    super();
    // As many as there are actions under way.
    this.setMaxListeners(0);
    this.#link = link;
    this.#idle = new IdleWatch(this);
    link.attached = (waits) => {
      if (waits) this.#idle.start();
      else this.#idle.restart();
    };
  }

  /** The target's id, which names it also to other clients. */
  get targetId(): string {
    return this.#link.info.targetId;
  }

  /** `page`, `iframe`, `worker`, … */
  get kind(): string {
    return this.#link.info.type;
  }

  /** Where it is. */
  get url(): string {
    return this.#link.info.url;
  }

  /** The target that opened it, for a popup. */
  get openerId(): string | undefined {
    return this.#link.info.openerId;
  }

  /** The dialog that is open. */
  get dialog(): CdpDialog | undefined {
    return this.#link.dialog;
  }

  /** Whether its renderer has died; `goto` brings it back. */
  get crashed(): boolean {
    return this.#link.crashed;
  }

  /** Whether it is gone. */
  get closed(): boolean {
    return this.#link.closed;
  }

  /**
   * Sends a command to the page.
   *
   * @param method Its name, `Domain.command`.
   * @param args Its parameters; then a time-out and a signal.
   * @throws {CdpError} `refused`, `target-crashed`, `target-closed`, `too-large`; so do the methods below.
   * @throws {EnvportError} `timeout`, `connection-lost`, `closed`; so do the methods below.
   */
  send<M extends keyof CdpCommands>(method: M, ...args: CdpSendArguments<M>): Promise<CdpResult<M>> {
    const [params, options] = args as [object?, CdpSendOptions?];
    return this.#link.send(method, params, options) as Promise<CdpResult<M>>;
  }

  /**
   * Goes to an address, and waits until it is there.
   *
   * @param url Absolute.
   * @param options What to wait for, and for how long.
   * @throws {CdpError} `navigation-failed`
   */
  async goto(url: string, options: GotoOptions = {}): Promise<void> {
    this.#idle.start();
    await goto(this, url, options);
  }

  /**
   * Waits until the page is loaded and has asked for nothing for a while. What keeps a connection open by its nature
   * (WebSocket, event stream) does not count.
   */
  async waitForIdle(options: IdleOptions = {}): Promise<void> {
    await this.#idle.wait(options);
  }

  /**
   * Takes a picture of what is visible, of the whole page, or of a part.
   *
   * @returns The image file's bytes.
   */
  async screenshot(options: ScreenshotOptions = {}): Promise<Buffer> {
    return await screenshot(this, options);
  }

  /**
   * Clicks on an element, waiting until it is visible, or at a point of the viewport. Returns early if a dialog opens.
   *
   * @param target A CSS selector of the page's own document (in its frames a point is the way), or CSS pixels from the upper left corner.
   * @throws {CdpError} `not-found`
   */
  async click(target: string | Point, options: ClickOptions = {}): Promise<void> {
    this.#idle.start();
    await click(this, target, options);
  }

  /**
   * Types text where the focus is; a line feed presses Enter. Returns early if a dialog opens.
   *
   * @param text What to type.
   * @throws {CdpError} `not-found`
   */
  async type(text: string, options: TypeOptions = {}): Promise<void> {
    this.#idle.start();
    await type(this, text, options);
  }

  /**
   * Presses a key, or several together. Returns early if a dialog opens.
   *
   * @param keys Names as of `KeyboardEvent.key`, joined by plus signs: `"Enter"`, `"Control+A"`, `"Shift+Tab"`.
   * @throws {TypeError} If there is no such key.
   */
  async press(keys: string, options: CdpSendOptions = {}): Promise<void> {
    this.#idle.start();
    await press(this, keys, options);
  }

  /**
   * Turns the wheel.
   *
   * @param deltaY CSS pixels; down is positive.
   * @throws {CdpError} `not-found`
   */
  async scroll(deltaY: number, options: ScrollOptions = {}): Promise<void> {
    this.#idle.start();
    await scroll(this, deltaY, options);
  }

  /**
   * Runs a script in the page and returns what it returns, as plain data. A promise is waited for.
   *
   * @param script An expression, or a function that refers to nothing outside itself.
   * @throws {CdpError} `evaluation-failed`
   */
  async evaluate<T = unknown, A extends unknown[] = unknown[]>(
    script: string | ((...args: A) => T),
    options: EvaluateOptions<A> = {},
  ): Promise<Awaited<T>> {
    return (await evaluate(this, script, options)) as Awaited<T>;
  }

  /** What a screen reader would find: roles, names and states, as a tree. */
  async accessibilityTree(options: CdpSendOptions = {}): Promise<AccessibilityNode> {
    return await accessibilityTree(this, options);
  }

  /**
   * Closes the page, also a crashed or hung one, and waits until it is gone. Idempotent.
   *
   * @throws {TypeError} If it is a frame or worker: closing one would end the page that it belongs to.
   * @throws {EnvportError} `timeout` If it does not close, for instance because of a dialog that somebody listens for.
   */
  async close({ timeout = TIMEOUT_MS, signal }: CdpSendOptions = {}): Promise<void> {
    if (this.closed) return;
    if (this.kind !== "page") {
      throw new TypeError(`Cannot close target as it must be a page: current value is '${this.kind}'`);
    }
    const gone = waitUntilClosed(this, timeout, signal);
    gone.catch(() => undefined);
    await this.#link.close({ timeout, signal });
    await gone;
  }
}

async function waitUntilClosed(
  page: CdpPage,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  let settle!: () => void;
  const closed = new Promise<void>((resolve) => page.once("close", (settle = resolve)));
  const timer = setTimeout(settle, timeout);
  try {
    await unlessAborted(closed, signal);
    if (!page.closed) {
      const rule = `it was not gone within ${String(timeout)} ms`;
      throw new EnvportError("timeout", `Cannot close page as ${rule}`);
    }
  } finally {
    clearTimeout(timer);
    page.off("close", settle);
  }
}
