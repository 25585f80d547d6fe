import { EnvportError, unlessAborted } from "@envport/wire";
import type { Protocol } from "devtools-protocol";
import { Connection } from "./_connection.ts";
import { browserSocketUrl, dialled, tlsOptions } from "./_endpoint.ts";
import type { CdpEndpoint } from "./_endpoint.ts";
import type { PageLink } from "./_page_link.ts";
import type { CdpClient } from "./cdp_client.ts";
import type { CdpConnectOptions } from "./cdp_client_options.ts";
import type { CdpDialog } from "./cdp_dialog.ts";
import { CdpError } from "./cdp_error.ts";
import type { CdpSendOptions } from "./cdp_messages.ts";
import { CdpPage } from "./cdp_page.ts";

type TargetInfo = Protocol.Target.TargetInfo;

const TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const HANG_TIMEOUT_MS = 5_000;
/** What a page that hangs can still be told. */
const FOR_HUNG: ReadonlySet<string> = new Set([
  "Runtime.terminateExecution",
  "Page.crash",
  "Page.handleJavaScriptDialog",
]);
/** Pages of a tab, without the browser's own surfaces. */
const PAGES_ONLY = [{ type: "page" }, { exclude: true }];
/** Kinds of targets that show documents, and so can open dialogs. */
const DOCUMENTS: ReadonlySet<string> = new Set(["page", "iframe", "webview"]);
/** What brings a page back whose renderer has died. */
const REVIVING: ReadonlySet<string> = new Set(["Page.navigate", "Page.reload"]);

interface Entry {
  readonly page: CdpPage;
  readonly link: PageLink;
}

/** A client's connection of the moment, and the pages on it. A connection that was lost is made anew by the next call. */
export class BrowserLink {
  readonly #endpoint: CdpEndpoint;
  readonly #client: CdpClient;
  readonly #timeout: number;
  readonly #connectTimeout: number;
  readonly #hangTimeout: number;
  readonly #entries = new Map<string, Entry>();
  readonly #sessions = new Map<string, Entry>();
  #connection: Connection | undefined;
  #isAttached = false;
  #opening: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #chosen: string | undefined;

  constructor(endpoint: CdpEndpoint, options: CdpConnectOptions, client: CdpClient) {
    this.#endpoint = endpoint;
    this.#client = client;
    this.#timeout = options.timeout ?? TIMEOUT_MS;
    this.#connectTimeout = options.connectTimeout ?? CONNECT_TIMEOUT_MS;
    this.#hangTimeout = options.hangTimeout ?? HANG_TIMEOUT_MS;
  }

  /** The pages there are. */
  get pages(): CdpPage[] {
    return [...this.#entries.values()].map(({ page }) => page);
  }

  /** The one that was chosen at first, while it is there; else the first. */
  get currentPage(): CdpPage | undefined {
    const chosen = this.#entries.get(this.#chosen ?? "")?.page;
    return chosen ?? this.pages.find(({ kind }) => kind === "page");
  }

  /** Connects, if there is no connection. */
  async ready(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    if (this.#isAttached && this.#connection?.alive) return;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    await unlessAborted(this.#opening, signal);
  }

  /** Sends a command to a page, or to the browser. */
  send(
    link: PageLink | undefined,
    method: string,
    params: object | undefined,
    options: CdpSendOptions = {},
  ): Promise<unknown> {
    if (this.#isAttached && this.#connection?.alive && !options.signal?.aborted) {
      return this.#sendNow(link, method, params, options);
    }
    return this.ready(options.signal).then(() => this.#sendNow(link, method, params, options));
  }

  /** Attaches to a target of any kind. */
  async attach(targetId: string, options: CdpSendOptions): Promise<CdpPage> {
    await this.ready(options.signal);
    const known = this.#entries.get(targetId);
    if (known?.link.sessionId !== undefined) return known.page;
    await this.send(undefined, "Target.attachToTarget", { targetId, flatten: true }, options);
    const { page } = this.#entries.get(targetId) ?? {};
    if (page) return page;
    throw new CdpError("target-closed", `Cannot attach as target '${targetId}' is gone`);
  }

  /** The address of the browser's socket of now. */
  async socketUrl(): Promise<string> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    return await browserSocketUrl(this.#endpoint, this.#connectTimeout, signal);
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    this.#closing.abort(new EnvportError("closed", "Cannot go on as the browser's client was closed"));
    await this.#connection?.close();
    await this.#opening?.catch(() => undefined);
    await this.#connection?.close();
  }

  #sendNow(
    link: PageLink | undefined,
    method: string,
    params: object | undefined,
    { timeout = this.#timeout, signal }: CdpSendOptions,
  ): Promise<unknown> {
    if (link) {
      if (link.closed || link.sessionId === undefined) return Promise.reject(gone(method));
      if (link.crashed && !REVIVING.has(method)) return Promise.reject(crashed(method));
      link.crashed = false;
    }
    const connection = this.#connection!;
    const answer = connection.send(method, params, link?.sessionId, timeout, signal);
    if (!link || this.#hangTimeout === 0 || FOR_HUNG.has(method)) return answer;
    return this.#unlessHung(connection, link, answer, method);
  }

  /** Fails a command whose page does not even answer a question that costs it nothing. */
  #unlessHung(
    connection: Connection,
    link: PageLink,
    answer: Promise<unknown>,
    method: string,
  ): Promise<unknown> {
    const { sessionId } = link;
    const half = this.#hangTimeout / 2;
    return new Promise((resolve, reject) => {
      const ask = (): void => {
        // A page with a dialog waits for whoever answers it.
        if (link.dialog || link.closed || link.crashed || link.sessionId !== sessionId) return;
        link.probe ??= connection
          .send("Runtime.evaluate", { expression: "0" }, sessionId, half)
          .then(
            () => true,
            (error: unknown) =>
              !(error instanceof EnvportError && error.code === "timeout") || link.dialog !== undefined,
          )
          .finally(() => (link.probe = undefined));
        void link.probe.then((isAlive) => {
          if (over) return;
          if (isAlive) timer = setTimeout(ask, half);
          else reject(hung(method, this.#hangTimeout));
        });
      };
      let over = false;
      let timer = setTimeout(ask, half);
      answer.then(resolve, reject).finally(() => {
        over = true;
        clearTimeout(timer);
      });
    });
  }

  async #open(): Promise<void> {
    const again = this.#connection !== undefined;
    const timeout = this.#connectTimeout;
    const url = await this.socketUrl();
    const road = await dialled(this.#endpoint, this.#closing.signal);
    const connection = await Connection.open(
      url,
      {
        event: (method, params, sessionId) => this.#heed(connection, method, params, sessionId),
        lost: () => this.#lost(connection),
        hint: (sessionId) => this.#hint(sessionId),
      },
      { timeout, signal: this.#closing.signal, ...tlsOptions(this.#endpoint), ...road },
    );
    this.#connection = connection;
    if (this.#closing.signal.aborted) await connection.close();
    const ask = (method: string, params: object): Promise<unknown> =>
      connection.send(method, params, undefined, timeout);
    try {
      await ask("Target.setDiscoverTargets", { discover: true, filter: PAGES_ONLY });
      // A new page waits until its dialogs can be answered. It has to be let go on even if it does not say that it waits:
      // else whoever opened it hangs.
      const attaching = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: PAGES_ONLY };
      await ask("Target.setAutoAttach", attaching);
      await this.#choose(ask, again);
    } catch (error) {
      await connection.close();
      throw error;
    }
    this.#isAttached = true;
    if (again) this.#client.emit("reconnect");
  }

  /** Attaches to the page that the binding names, or to the one that was chosen before. */
  async #choose(ask: (method: string, params: object) => Promise<unknown>, again: boolean): Promise<void> {
    const isDetached = ({ link }: Entry): boolean => link.sessionId === undefined;
    for (const entry of [...this.#entries.values()].filter(isDetached)) {
      const { targetId } = entry.link.info;
      // A frame or worker is not attached to by itself.
      if (entry.page.kind !== "page") {
        await ask("Target.attachToTarget", { targetId, flatten: true }).catch(() => undefined);
      }
      if (isDetached(entry)) this.#forget(entry);
    }
    if (again) return;
    const { targetId } = this.#endpoint;
    if (targetId !== undefined && !this.#entries.has(targetId)) {
      await ask("Target.attachToTarget", { targetId, flatten: true }).catch((cause: unknown) => {
        throw new CdpError(
          "target-closed",
          `Cannot attach to the page that binding '${this.#endpoint.name}' names as it is gone: current value is ${JSON.stringify(targetId)}`,
          { cause },
        );
      });
    }
    if (targetId === undefined && !this.currentPage) await ask("Target.createTarget", { url: "about:blank" });
    this.#chosen = targetId ?? this.currentPage?.targetId;
  }

  #heed(connection: Connection, method: string, params: unknown, sessionId: string | undefined): void {
    if (sessionId === undefined) this.#heedBrowser(connection, method, params);
    const entry = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    if (entry) this.#heedPage(connection, entry, method, params);
    (entry?.page ?? (sessionId === undefined ? this.#client : undefined))?.emit(
      method as "Page.loadEventFired",
      params as never,
    );
  }

  #heedBrowser(connection: Connection, method: string, params: unknown): void {
    switch (method) {
      case "Target.attachedToTarget":
        this.#attached(connection, params as Protocol.Target.AttachedToTargetEvent);
        return;
      case "Target.detachedFromTarget": {
        const { sessionId } = params as Protocol.Target.DetachedFromTargetEvent;
        connection.failSession(sessionId, gone);
        const entry = this.#sessions.get(sessionId);
        if (entry) this.#forget(entry);
        return;
      }
      case "Target.targetInfoChanged": {
        const { targetInfo } = params as Protocol.Target.TargetInfoChangedEvent;
        const entry = this.#entries.get(targetInfo.targetId);
        if (entry) entry.link.info = targetInfo;
        return;
      }
    }
  }

  #heedPage(connection: Connection, entry: Entry, method: string, params: unknown): void {
    switch (method) {
      case "Page.javascriptDialogOpening":
        this.#dialogOpened(connection, entry, params as Protocol.Page.JavascriptDialogOpeningEvent);
        return;
      case "Page.javascriptDialogClosed":
        entry.link.dialog = undefined;
        return;
      case "Page.frameNavigated": {
        const { frame } = params as Protocol.Page.FrameNavigatedEvent;
        if (frame.parentId !== undefined) return;
        entry.link.mainFrameId = frame.id;
        entry.link.info = { ...entry.link.info, url: frame.url + (frame.urlFragment ?? "") };
        return;
      }
      case "Page.navigatedWithinDocument": {
        const { frameId, url } = params as Protocol.Page.NavigatedWithinDocumentEvent;
        if (frameId === entry.link.mainFrameId) entry.link.info = { ...entry.link.info, url };
        return;
      }
      case "Inspector.targetCrashed":
        this.#crashed(connection, entry);
        return;
    }
  }

  #attached(
    connection: Connection,
    { sessionId, targetInfo, waitingForDebugger }: Protocol.Target.AttachedToTargetEvent,
  ): void {
    const known = this.#entries.get(targetInfo.targetId);
    const send = (method: string, params: object = {}): void =>
      void connection.send(method, params, sessionId, this.#timeout).catch(() => undefined);
    const entry = known ?? this.#newEntry(targetInfo);
    if (entry.link.sessionId === undefined) {
      entry.link.info = targetInfo;
      entry.link.sessionId = sessionId;
      this.#sessions.set(sessionId, entry);
      if (DOCUMENTS.has(targetInfo.type)) {
        // A dialog that opens before this can never be answered.
        send("Page.enable");
        send("Page.setLifecycleEventsEnabled", { enabled: true });
        send("Inspector.enable");
      }
      entry.link.attached?.(waitingForDebugger);
    }
    send("Runtime.runIfWaitingForDebugger");
    if (!known && targetInfo.type === "page") this.#client.emit("page", entry.page);
  }

  #newEntry(info: TargetInfo): Entry {
    const link: PageLink = {
      info,
      sessionId: undefined,
      mainFrameId: info.targetId,
      closed: false,
      crashed: false,
      dialog: undefined,
      close: (options) => this.send(undefined, "Target.closeTarget", { targetId: info.targetId }, options),
      send: (method, params, options) => this.send(link, method, params, options),
    };
    const entry = { page: new CdpPage(link), link };
    this.#entries.set(info.targetId, entry);
    return entry;
  }

  #dialogOpened(
    connection: Connection,
    { link, page }: Entry,
    { type, message, defaultPrompt }: Protocol.Page.JavascriptDialogOpeningEvent,
  ): void {
    const { sessionId } = link;
    const answer = async (accept: boolean, promptText?: string): Promise<void> => {
      const params = { accept, ...(promptText === undefined ? {} : { promptText }) };
      await connection.send("Page.handleJavaScriptDialog", params, sessionId, this.#timeout);
    };
    const dialog: CdpDialog = {
      type,
      message,
      defaultPrompt: type === "prompt" ? defaultPrompt : undefined,
      accept: (text) => answer(true, text),
      dismiss: () => answer(false),
    };
    link.dialog = dialog;
    const heard = [page.emit("dialog", dialog), this.#client.emit("dialog", dialog, page)];
    // Another client may have answered meanwhile.
    if (!heard.includes(true)) answer(type === "alert" || type === "beforeunload").catch(() => undefined);
  }

  #crashed(connection: Connection, { link, page }: Entry): void {
    if (link.crashed) return;
    link.crashed = true;
    link.dialog = undefined;
    if (link.sessionId !== undefined) connection.failSession(link.sessionId, crashed);
    page.emit("crash");
  }

  #forget({ link, page }: Entry): void {
    this.#entries.delete(link.info.targetId);
    if (link.sessionId !== undefined) this.#sessions.delete(link.sessionId);
    link.sessionId = link.dialog = undefined;
    link.closed = true;
    page.emit("close");
  }

  #lost(connection: Connection): void {
    if (connection !== this.#connection) return;
    this.#isAttached = false;
    this.#sessions.clear();
    for (const { link } of this.#entries.values()) link.sessionId = link.dialog = undefined;
  }

  #hint(sessionId: string | undefined): string {
    const dialog = this.#sessions.get(sessionId ?? "")?.link.dialog;
    return dialog ? ` while a dialog is open: ${JSON.stringify(dialog.message)}` : "";
  }
}

function gone(method: string): CdpError {
  return new CdpError("target-closed", `Cannot do ${method} as the page is gone`);
}

function hung(method: string, ms: number): CdpError {
  return new CdpError(
    "target-hung",
    `Cannot finish ${method} as the page has answered nothing for ${String(ms)} ms: a script may keep it busy`,
  );
}

function crashed(method: string): CdpError {
  return new CdpError(
    "target-crashed",
    `Cannot do ${method} as the page has crashed; going somewhere brings it back`,
  );
}
