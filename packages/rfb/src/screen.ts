import { EnvportError, Lifecycle } from "@envport/wire";
import type { AbortOptions, PublishedCapability, Service } from "@envport/wire";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInstalled, startTigerVnc, startX11Vnc, startXvfb } from "./_display_server.ts";
import type { DisplayOptions, DisplayServer } from "./_display_server.ts";
import { Guard } from "./_guard.ts";
import { rfbTarget } from "./_rfb_target.ts";
import type { RfbTarget } from "./_rfb_target.ts";
import { openSession } from "./_session.ts";
import { clearSpareKeys } from "./_spare_keys.ts";
import { delay } from "./_timing.ts";
import { vncPasswordFile } from "./_vnc_password.ts";
import { xAuthority } from "./_x_authority.ts";
import { rfbCapability } from "./rfb_capability.ts";
import type { ScreenOptions, ScreenProgram } from "./screen_options.ts";

const READY_MS = 20_000;
const POLL_MS = 20;
/** Of the keys cleared, what one client may use: several share them, and TigerVNC gives none back. */
const KEY_BUDGET = 40;
/** What programs see of our own variables: nothing secret stands there. */
const INHERITED = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_\w+)$/;

/** What is there between `start` and `stop`. */
interface Serving {
  readonly guard: Guard;
  readonly display: string;
  readonly env: Readonly<Record<string, string>>;
  readonly capability: PublishedCapability;
  readonly closed: Promise<Error | undefined>;
}

/**
 * A screen, served as `rfb/3.8` on a socket in a private folder, which no web page, no sandboxed process and no other
 * user reaches; the display itself takes a cookie. Programs on it run as this process's user, in no sandbox. Nothing of
 * it outlives this process, even when that is killed.
 *
 * @example
 * ```ts
 * import { RfbClient, Screen } from "@envport/rfb";
 * import assert from "node:assert/strict";
 *
 * await using screen = new Screen({ width: 320, height: 240 });
 * const [capability] = await screen.start();
 * await using client = await RfbClient.connect(capability!);
 * const { width, height } = await client.screenshot();
 * assert.deepEqual([width, height], [320, 240]);
 * ```
 */
export class Screen implements Service, AsyncDisposable {
  readonly #options: ScreenOptions;
  readonly #lifecycle: Lifecycle<Serving>;

  /**
   * Nothing happens yet.
   *
   * @param options Its size, its server, the programs on it.
   * @throws {RangeError} If the size is not 16 to 16384 pixels, or the password longer than 8 bytes.
   * @throws {TypeError} If the server is none of those known.
   */
  constructor(options: ScreenOptions = {}) {
    checkOptions(options);
    this.#options = options;
    this.#lifecycle = new Lifecycle({
      name: this.name,
      start: ({ signal }) => this.#start(signal),
      stop: ({ guard }) => guard.end(),
    });
  }

  /** What errors and logs call it. */
  get name(): string {
    return `screen '${this.#options.name ?? "screen"}'`;
  }

  /** Resolves when the screen of the latest start is gone: to undefined after a `stop`, else to the reason. */
  get closed(): Promise<Error | undefined> {
    return this.#lifecycle.current?.closed ?? Promise.resolve(undefined);
  }

  /**
   * The X display: `":5"`.
   *
   * @throws {EnvportError} `closed` If it is not started; so do the next ones.
   */
  get display(): string {
    return this.#lifecycle.running.display;
  }

  /** The variables that a program needs to be on this screen: `DISPLAY` and `XAUTHORITY`. */
  get env(): Readonly<Record<string, string>> {
    return this.#lifecycle.running.env;
  }

  /** The capability as it is published. */
  get capability(): PublishedCapability {
    return this.#lifecycle.running.capability;
  }

  /**
   * Starts the display, the VNC server and the programs, and resolves when the first whole picture came. Idempotent.
   *
   * @returns The one capability to publish.
   * @throws {EnvportError} `service-failed` If a program is not installed, or ends.
   */
  async start(options: AbortOptions = {}): Promise<readonly PublishedCapability[]> {
    const { capability } = await this.#lifecycle.start(options);
    return [capability];
  }

  /**
   * Starts a program on the screen. It ends with it.
   *
   * @param program A line for `sh`, a program with its arguments, or more about it.
   * @throws {EnvportError} `service-failed` If there is no such program.
   */
  async spawn(program: string | readonly string[] | ScreenProgram): Promise<ChildProcess> {
    const { guard, env } = this.#lifecycle.running;
    return await startProgram(program, { ...env, ...guard.env });
  }

  /** Ends the screen and everything on it. Idempotent; it may be started again. */
  async stop(): Promise<void> {
    await this.#lifecycle.stop();
  }

  /** The same as `stop`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #start(signal: AbortSignal | undefined): Promise<Serving> {
    const folder = mkdtempSync(join(tmpdir().length < 80 ? tmpdir() : "/tmp", "envport-screen-"));
    const guard = new Guard(folder);
    try {
      return await this.#launch(folder, guard, signal);
    } catch (error) {
      await guard.end();
      throw error;
    }
  }

  async #launch(folder: string, guard: Guard, signal: AbortSignal | undefined): Promise<Serving> {
    const { width = 1280, height = 1024, password, display: existing, run = [] } = this.#options;
    const file = (name: string, content: Buffer): string => {
      writeFileSync(join(folder, name), content, { mode: 0o600 });
      return join(folder, name);
    };
    const passwordFile = password === undefined ? undefined : file("password", vncPasswordFile(password));
    const authority = existing === undefined ? file("authority", xAuthority()) : process.env["XAUTHORITY"];
    const socket = join(folder, "rfb.sock");
    const env = { ...inherited(), ...guard.env };
    const kind = this.#server();
    const { daemons, display } = await startDisplayServer(kind, existing, {
      width,
      height,
      socket,
      authority,
      passwordFile,
      env,
    });
    const ended = Promise.race(daemons.map(({ exited }) => exited));
    const own = { DISPLAY: display, ...(authority === undefined ? {} : { XAUTHORITY: authority }) };
    const spare =
      existing === undefined && isInstalled("xmodmap") ? await clearSpareKeys({ ...env, ...own }) : 0;
    const capability = this.#describe(display, kind, spare >= KEY_BUDGET, socket);
    await untilReady(capability, ended, signal);
    for (const program of run) await startProgram(program, { ...own, ...guard.env });
    const closed = ended.then(async (reason) => {
      if (guard.ending) return undefined;
      await guard.end();
      return reason;
    });
    return { guard, display, env: own, capability, closed };
  }

  #describe(
    display: string,
    kind: "tigervnc" | "x11vnc",
    spareKeys: boolean,
    socket: string,
  ): PublishedCapability {
    const { name, password } = this.#options;
    const number = Number(/:(\d+)/.exec(display)?.[1] ?? 0);
    const { params, ...rest } = rfbCapability({ name, url: "127.0.0.1", password, display: number });
    const more = { server: kind, ...(spareKeys ? { key_budget: KEY_BUDGET } : {}) };
    return { ...rest, params: { ...params, ...more }, dial: { path: socket } };
  }

  #server(): "tigervnc" | "x11vnc" {
    const { server = "auto", display } = this.#options;
    if (display !== undefined) return "x11vnc";
    if (server !== "auto") return server;
    return !isInstalled("Xtigervnc") && isInstalled("Xvfb") && isInstalled("x11vnc") ? "x11vnc" : "tigervnc";
  }
}

async function startDisplayServer(
  kind: "tigervnc" | "x11vnc",
  existing: string | undefined,
  options: DisplayOptions,
): Promise<DisplayServer> {
  if (existing !== undefined) return { daemons: [startX11Vnc(existing, options)], display: existing };
  if (kind === "tigervnc") return await startTigerVnc(options);
  const { daemon, display } = await startXvfb(options);
  return { daemons: [daemon, startX11Vnc(display, options)], display };
}

/**
 * Waits until the server answers: TigerVNC with a whole picture. x11vnc hears nobody for five seconds after its first
 * client has gone, so there the first one is left to whoever comes, and the socket's being there is enough.
 */
async function untilReady(
  capability: PublishedCapability,
  ended: Promise<Error>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const target = rfbTarget(capability);
  const deadline = performance.now() + READY_MS;
  let gone: Error | undefined;
  void ended.then((reason) => (gone = reason));
  for (;;) {
    try {
      await probe(target, signal);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if (gone ?? performance.now() > deadline) {
        const why = gone ? "must go on running" : "must answer in time";
        throw new EnvportError("service-failed", `Cannot start screen as its VNC server ${why}`, {
          cause: gone ?? error,
        });
      }
      await delay(POLL_MS, signal);
    }
  }
}

async function probe(target: RfbTarget, signal: AbortSignal | undefined): Promise<void> {
  if (target.kind === "x11vnc") {
    await stat((target.address as { path: string }).path);
    return;
  }
  const session = await openSession(target, { readyTimeout: READY_MS, encodings: undefined, signal });
  await session.close();
}

async function startProgram(
  program: string | readonly string[] | ScreenProgram,
  env: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const asked = typeof program === "object" && "command" in program ? program : { command: program };
  const { command, cwd, env: more = {} } = asked;
  const [name, ...args] = typeof command === "string" ? ["sh", "-c", command] : command;
  const child = spawn(name!, args, { stdio: "ignore", cwd, env: { ...inherited(), ...more, ...env } });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new EnvportError(
      "service-failed",
      `Cannot start program on screen as it must exist: current value is '${name!}'`,
      { cause: error },
    );
  }
  child.on("error", () => undefined);
  return child;
}

function inherited(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([key]) => INHERITED.test(key));
  return Object.fromEntries(entries) as Record<string, string>;
}

function checkOptions({ width = 1280, height = 1024, server = "auto", name, password }: ScreenOptions): void {
  if (![width, height].every((side) => Number.isInteger(side) && side >= 16 && side <= 16_384)) {
    throw new RangeError(
      `Cannot make screen as its sides must be 16 to 16384 pixels: current value is ${String(width)}x${String(height)}`,
    );
  }
  if (!["auto", "tigervnc", "x11vnc"].includes(server)) {
    throw new TypeError(
      `Cannot make screen as 'server' must be auto, tigervnc or x11vnc: current value is '${server}'`,
    );
  }
  rfbCapability({ name, url: "127.0.0.1", password });
}
