import { EventEmitter } from "node:events";
import type { Capability, CapabilityClient } from "@envport/wire";
import type { Protocol } from "devtools-protocol";
import { BrowserLink } from "./_browser_link.ts";
import { cdpEndpoint } from "./_endpoint.ts";
import { connectPlaywright } from "./_playwright.ts";
import type { PlaywrightBrowser } from "./_playwright.ts";
import type { CdpConnectOptions } from "./cdp_client_options.ts";
import type { CdpDialog } from "./cdp_dialog.ts";
import { CdpError } from "./cdp_error.ts";
import type { CdpCommands, CdpEvents, CdpResult, CdpSendArguments, CdpSendOptions } from "./cdp_messages.ts";
import type { CdpPage } from "./cdp_page.ts";

/** What a client tells: the browser's own events of the protocol, and these. */
export interface CdpClientEvents extends CdpEvents {
  /** A page has opened: by a popup, by this client, or by another. */
  page: [page: CdpPage];
  /** A page opened a dialog. With a listener, answering is the listener's business. */
  dialog: [dialog: CdpDialog, page: CdpPage];
  /** The connection was lost and made anew: domains that were enabled have to be enabled again. */
  reconnect: [];
}

/**
 * A client of a browser: one socket, with a session for each page on it.
 *
 * Pages never hang: popups are let go on, alerts are accepted and other dialogs dismissed, unless somebody listens to
 * `dialog`.
 *
 * ```text
 * connected ── the connection is lost ─▶ what was under way fails with `connection-lost`, and is never sent again
 *     │                                    └─ the next call ─▶ connected, to the same pages
 *     └── close() ─▶ closed; the browser and its pages stay
 * ```
 *
 * @example
 * ```ts no-run
 * import { connect } from "@envport/client";
 * import { cdp } from "@envport/cdp";
 *
 * await using client = await connect("tcp://127.0.0.1:8765");
 * const browser = await client.open(cdp);
 * await browser.page.goto("http://shop.localhost:8080/");
 * await browser.page.click("button");
 * console.log(await browser.page.evaluate("document.title"));
 * ```
 */
export class CdpClient extends EventEmitter<CdpClientEvents> implements CapabilityClient, AsyncDisposable {
  readonly #link: BrowserLink;

  private constructor(capability: Capability, options: CdpConnectOptions) {
    super();
    this.setMaxListeners(0);
    const endpoint = cdpEndpoint(capability, options);
    this.#link = new BrowserLink(endpoint, options, this);
  }

  /**
   * Connects, and attaches to the pages.
   *
   * @param capability A binding, its url one that can be dialled from here.
   * @param options Time-outs.
   * @throws {EnvportError} `connection-lost`, `timeout`, `unsupported` (no browser is there), `invalid-value`
   * @throws {CdpError} `target-closed` If the binding names a page that is not there.
   */
  static async connect(capability: Capability, options: CdpConnectOptions = {}): Promise<CdpClient> {
    const client = new CdpClient(capability, options);
    try {
      await client.#link.ready(options.signal);
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /**
   * The page to work with: the one that the binding names, else the first there was; once that is gone, the first there
   * is.
   *
   * @throws {CdpError} `target-closed` If there is none: `newPage` opens one.
   */
  get page(): CdpPage {
    const page = this.#link.currentPage;
    if (page) return page;
    throw new CdpError("target-closed", "Cannot choose a page as all are gone");
  }

  /** The pages there are, popups included. */
  get pages(): CdpPage[] {
    return this.#link.pages.filter(({ kind }) => kind === "page");
  }

  /**
   * Sends a command to the browser itself.
   *
   * @param method Its name: `Browser.getVersion`, `Target.getTargets`. Those of pages go to a page.
   * @param args Its parameters; then a time-out and a signal.
   * @throws {CdpError} `refused`, `too-large`; so do the methods below.
   * @throws {EnvportError} `timeout`, `connection-lost`, `closed`; so do the methods below.
   */
  send<M extends keyof CdpCommands>(method: M, ...args: CdpSendArguments<M>): Promise<CdpResult<M>> {
    const [params, options] = args as [object?, CdpSendOptions?];
    return this.#link.send(undefined, method, params, options) as Promise<CdpResult<M>>;
  }

  /** Lists everything that can be attached to: pages, frames of other sites, workers. */
  async targets(options: CdpSendOptions = {}): Promise<Protocol.Target.TargetInfo[]> {
    // Without a filter it would be that of the discovery of pages.
    const filter = [{ type: "browser", exclude: true }, { type: "tab", exclude: true }, {}];
    return (await this.send("Target.getTargets", { filter }, options)).targetInfos;
  }

  /**
   * Attaches to a target.
   *
   * @param targetId One of `targets`; a page that is attached to already comes back as it is.
   */
  async attach(targetId: string, options: CdpSendOptions = {}): Promise<CdpPage> {
    return await this.#link.attach(targetId, options);
  }

  /**
   * Opens a page.
   *
   * @param url Where to; it is not waited for.
   */
  async newPage(url = "about:blank", options: CdpSendOptions = {}): Promise<CdpPage> {
    const { targetId } = await this.send("Target.createTarget", { url }, options);
    return await this.#link.attach(targetId, options);
  }

  /**
   * A browser of Playwright through the same tunnel, for everything that is not here. It is a connection of its own: close
   * it; that leaves the browser as it is.
   *
   * @throws {EnvportError} `unsupported` If `playwright-core` is not installed.
   */
  async playwright(options: CdpSendOptions = {}): Promise<PlaywrightBrowser> {
    return await connectPlaywright(await this.#link.socketUrl(), options);
  }

  /** Ends the connection; pages and browser stay. Idempotent. */
  async close(): Promise<void> {
    await this.#link.close();
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
