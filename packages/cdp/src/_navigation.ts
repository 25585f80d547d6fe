import type { Protocol } from "devtools-protocol";
import { waitOnPage } from "./_wait.ts";
import { CdpError } from "./cdp_error.ts";
import type { CdpPage } from "./cdp_page.ts";
import type { GotoOptions, IdleOptions } from "./cdp_page_options.ts";

type LifecycleEvent = Protocol.Page.LifecycleEventEvent;

const TIMEOUT_MS = 30_000;
const IDLE_TIME_MS = 500;
/** Requests that are not meant to end. */
const ENDLESS: ReadonlySet<string> = new Set(["WebSocket", "EventSource", "Ping", "Prefetch"]);
const LIFECYCLE = { domcontentloaded: "DOMContentLoaded", load: "load", networkidle: "networkIdle" } as const;

/** See `CdpPage.goto`. */
export async function goto(page: CdpPage, url: string, options: GotoOptions): Promise<void> {
  const { waitUntil = "load", timeout = TIMEOUT_MS, signal } = options;
  const started = performance.now();
  const seen: LifecycleEvent[] = [];
  const loaders = new Set<string>();
  let check = (): void => undefined;
  const onLifecycle = (event: LifecycleEvent): void => {
    seen.push(event);
    check();
  };
  // A page that goes on to another one by itself is there when the other is.
  const onNavigated = ({ frame }: Protocol.Page.FrameNavigatedEvent): void => {
    if (frame.parentId === undefined) loaders.add(frame.loaderId);
  };
  page.on("Page.lifecycleEvent", onLifecycle).on("Page.frameNavigated", onNavigated);
  try {
    const { loaderId, frameId, errorText, isDownload } = await page.send(
      "Page.navigate",
      { url },
      { timeout, signal },
    );
    // What is downloaded has no page; a loader is missing where only the fragment changes.
    if (isDownload) return;
    if (errorText !== undefined && errorText !== "") {
      throw new CdpError("navigation-failed", `Cannot go to '${url}' as it cannot be loaded: ${errorText}`);
    }
    if (loaderId === undefined || waitUntil === "commit") return;
    loaders.add(loaderId);
    const name = LIFECYCLE[waitUntil];
    const left = Math.max(1, timeout - (performance.now() - started));
    await waitOnPage<undefined>(page, { act: `go to '${url}'`, timeout: left, signal }, (done) => {
      check = () => {
        if (seen.some((e) => e.name === name && e.frameId === frameId && loaders.has(e.loaderId)))
          done(undefined);
      };
      check();
      return () => undefined;
    });
  } finally {
    page.off("Page.lifecycleEvent", onLifecycle).off("Page.frameNavigated", onNavigated);
  }
}

/** Counts what a page asks for, from its first use on. */
export class IdleWatch {
  readonly #page: CdpPage;
  readonly #open = new Set<string>();
  #watching = false;
  #changed: (() => void) | undefined;

  constructor(page: CdpPage) {
    this.#page = page;
  }

  /** Begins to count; does not wait for the browser. */
  start(): void {
    if (this.#watching) return;
    this.#watching = true;
    const ended = ({ requestId }: { requestId: string }): void => {
      if (this.#open.delete(requestId)) this.#changed?.();
    };
    this.#page
      .on("Network.requestWillBeSent", ({ requestId, type }) => {
        if (ENDLESS.has(type ?? "")) return;
        this.#open.add(requestId);
        this.#changed?.();
      })
      .on("Network.loadingFinished", ended)
      .on("Network.loadingFailed", ended)
      .on("Page.frameNavigated", ({ frame }) => {
        // What the page before was waiting for ends without a word; the new page's own document has the loader's id.
        if (frame.parentId !== undefined) return;
        const own = this.#open.has(frame.loaderId);
        this.#open.clear();
        if (own) this.#open.add(frame.loaderId);
        this.#changed?.();
      });
    this.restart();
  }

  /** Counts anew, in a new session. */
  restart(): void {
    this.#open.clear();
    if (this.#watching) this.#page.send("Network.enable", {}).catch(() => undefined);
  }

  /** Resolves once nothing was asked for during `idleTime`, and the document is loaded. */
  async wait({ idleTime = IDLE_TIME_MS, timeout = TIMEOUT_MS, signal }: IdleOptions): Promise<void> {
    const started = performance.now();
    this.start();
    const left = (): number => Math.max(1, timeout - (performance.now() - started));
    for (;;) {
      await waitOnPage<undefined>(
        this.#page,
        { act: "wait for an idle page", timeout: left(), signal },
        (done) => {
          let timer: NodeJS.Timeout | undefined;
          this.#changed = () => {
            clearTimeout(timer);
            if (this.#open.size === 0) timer = setTimeout(done, idleTime, undefined);
          };
          this.#changed();
          return () => {
            clearTimeout(timer);
            this.#changed = undefined;
          };
        },
      );
      const expression = "document.readyState === 'complete'";
      const { result } = await this.#page.send(
        "Runtime.evaluate",
        { expression },
        { timeout: left(), signal },
      );
      if (result.value === true && this.#open.size === 0) return;
    }
  }
}
