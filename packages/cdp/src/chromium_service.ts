import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EnvportError, consoleLogger, unlessAborted } from "@envport/wire";
import type { AbortOptions, PublishedCapability, Service } from "@envport/wire";
import { checkArgs } from "./_browser_flags.ts";
import { NOBODY, startOnHost } from "./_host_browser.ts";
import { placePeers } from "./_peers.ts";
import type { PlacedPeer } from "./_peers.ts";
import { endProcess, exitOf } from "./_running_browser.ts";
import type { RunningBrowser } from "./_running_browser.ts";
import { startInSandbox } from "./_sandboxed_browser.ts";
import { greetBrowser } from "./_greet_browser.ts";
import { cdpCapability } from "./cdp_capability.ts";
import type { ChromiumOptions } from "./chromium_options.ts";
import { findBrowser } from "./find_browser.ts";

const START_TIMEOUT_MS = 60_000;
const VIEWPORT = { width: 1280, height: 720 };

/** What a start has made so far; all of it goes at the end. */
interface Run {
  readonly folder: string;
  readonly home: string;
  readonly resources: AsyncDisposable[];
  process: Pick<RunningBrowser, "child" | "complaints"> | undefined;
}

/**
 * A browser that lives as long as its environment.
 *
 * ```text
 * idle ── start() ─▶ running ── stop() ─▶ idle
 *                       └── the browser ends by itself: `closed` tells why
 * ```
 *
 * @example
 * ```ts
 * import { CdpClient, ChromiumService } from "@envport/cdp";
 * import assert from "node:assert/strict";
 *
 * await using service = new ChromiumService();
 * const [capability] = await service.start();
 * await using browser = await CdpClient.connect(capability!);
 * await browser.page.goto("data:text/html,<title>hello</title>");
 * assert.equal(await browser.page.evaluate("document.title"), "hello");
 * ```
 */
export class ChromiumService implements Service, AsyncDisposable {
  readonly #options: ChromiumOptions;
  readonly #peers: readonly PlacedPeer[];
  #starting: Promise<RunningBrowser> | undefined;
  #stopping: Promise<void> | undefined;
  #run: Run | undefined;
  #closed: Promise<Error | undefined> = Promise.resolve(undefined);

  /**
   * Nothing happens yet.
   *
   * @param options Which browser, and what it may reach.
   * @throws {TypeError} If options contradict each other, or `args` has a word about remote debugging or the profile.
   * @throws {RangeError} If the viewport is not of positive integers, or a port is none.
   */
  constructor(options: ChromiumOptions = {}) {
    const { args = [], viewport = VIEWPORT, headless = true, sandbox } = options;
    checkArgs(args);
    for (const [name, value] of Object.entries(viewport)) {
      if (Number.isInteger(value) && value > 0 && value <= 16_384) continue;
      throw new RangeError(
        `Cannot start browser as viewport ${name} must be 1 to 16384: current value is ${String(value)}`,
      );
    }
    const needs = options.allowedHosts ? "allowedHosts" : options.peers ? "peers" : undefined;
    if (sandbox === false && needs !== undefined) {
      throw new TypeError(
        `Cannot start browser as '${needs}' must go with a sandbox: current value of 'sandbox' is false`,
      );
    }
    this.#options = { ...options, sandbox: sandbox ?? needs !== undefined };
    this.#peers = placePeers(options.peers ?? []);
    if (this.#options.sandbox === true && !headless) {
      throw new TypeError(
        "Cannot start browser as a sandbox has no display: current value of 'headless' is false",
      );
    }
  }

  /** What errors and logs call it. */
  get name(): string {
    return `chromium '${this.#options.name ?? "browser"}'`;
  }

  /** Resolves when the browser of the latest start is gone: to undefined after a `stop`, else to the reason. */
  get closed(): Promise<Error | undefined> {
    return this.#closed;
  }

  /**
   * The folder on this machine that a sandboxed browser sees as `/home/browser`, and any browser has as its home. What a
   * task wants to be uploaded goes here. Downloads land in its folder `Downloads`, unless a client says otherwise.
   *
   * @throws {EnvportError} `closed` If it is not started.
   */
  get home(): string {
    if (this.#run) return this.#run.home;
    throw new EnvportError(
      "closed",
      `Cannot tell the home of ${this.name} as it must be started: current value is 'idle'`,
    );
  }

  /**
   * Starts the browser and waits until it answers. Idempotent.
   *
   * @returns What to publish.
   * @throws {EnvportError} `service-failed` If there is no browser, or it does not come up; with its own words.
   */
  async start({ signal }: AbortOptions = {}): Promise<readonly PublishedCapability[]> {
    await this.#stopping;
    signal?.throwIfAborted();
    this.#starting ??= this.#start(signal);
    try {
      const { port, dial } = await this.#starting;
      const { name } = this.#options;
      const capability = cdpCapability({ name, url: `ws://127.0.0.1:${String(port)}` });
      return ["path" in dial ? { ...capability, dial } : capability];
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Ends the browser, and removes what it has written. Idempotent; it may be started again. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => (this.#stopping = undefined));
    await this.#stopping;
  }

  /** The same as `stop`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #start(signal: AbortSignal | undefined): Promise<RunningBrowser> {
    const {
      args = [],
      viewport = VIEWPORT,
      headless = true,
      startTimeout = START_TIMEOUT_MS,
    } = this.#options;
    const { allowedHosts, logger = consoleLogger() } = this.#options;
    const { path: executablePath } = await findBrowser(this.#options);
    const run = this.#newRun();
    if (args.includes("--no-sandbox")) {
      logger.log("warn", `${this.name} runs without Chromium's own sandbox`, { args });
    }
    const giveUp = new AbortController();
    const abort = (): void => giveUp.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    const late = new Error(`it did not answer within ${String(startTimeout)} ms`);
    const timer = setTimeout(() => giveUp.abort(late), startTimeout);
    const request = {
      ...{ executablePath, headless, viewport, args, home: run.home },
      started: (process: Pick<RunningBrowser, "child" | "complaints">) => {
        run.process = process;
        void exitOf(process.child).then((how) => giveUp.abort(new Error(`it ended: ${how}`)));
      },
    };
    try {
      const opened = (resource: AsyncDisposable): void => void run.resources.push(resource);
      const starting = this.#options.sandbox
        ? startInSandbox({ ...request, folder: run.folder, allowedHosts, peers: this.#peers, opened })
        : startOnHost(request);
      const browser = await unlessAborted(starting, giveUp.signal);
      await unlessAborted(
        greetBrowser(browser, { headless, viewport, timeout: startTimeout }),
        giveUp.signal,
      );
      this.#closed = exitOf(browser.child).then((how) =>
        this.#stopping ? undefined : new Error(`the browser ended: ${how}`),
      );
      return browser;
    } catch (error) {
      signal?.throwIfAborted();
      throw failure(this.name, error as Error, run.process?.complaints() ?? "");
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  #newRun(): Run {
    // A unix socket's path is at most 107 bytes.
    const folder = mkdtempSync(join(tmpdir().length < 60 ? tmpdir() : "/tmp", "envport-cdp-"));
    // Whom the browser runs as has to get to its home, and needs to see nothing else here.
    chmodSync(folder, 0o711);
    const home = join(folder, "home");
    mkdirSync(home, { mode: 0o700 });
    this.#run = { folder, home, resources: [], process: undefined };
    return this.#run;
  }

  async #stop(): Promise<void> {
    const run = this.#run;
    if (run?.process) await endProcess(run.process.child, this.#options.sandbox !== true);
    await this.#starting?.catch(() => undefined);
    this.#starting = this.#run = undefined;
    if (!run) return;
    for (const resource of run.resources.reverse()) await resource[Symbol.asyncDispose]();
    await rm(run.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

function failure(name: string, { message }: Error, complaints: string): EnvportError {
  const ofSandbox = /No usable sandbox|Running as root without --no-sandbox/.test(complaints)
    ? "; Chromium's own sandbox needs user namespaces: allow them (kernel.apparmor_restrict_unprivileged_userns=0, or the container's seccomp profile), or name '--no-sandbox' in 'args' where the container is the sandbox"
    : "";
  const ofUser =
    message.includes("EACCES") && process.getuid?.() === 0
      ? `; it runs as user ${String(NOBODY)}, who may not run that program: install it where everybody may, or set 'sandbox'`
      : "";
  const said = complaints === "" ? "" : `. The browser said: ${complaints}`;
  return new EnvportError("service-failed", `Cannot start ${name} as ${message}${ofSandbox}${ofUser}${said}`);
}
