/** Programs of the Python peer: each a file of `python/`, run by the interpreter that has the peer installed. */
import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";

const FOLDER = path.join(import.meta.dirname, "python");
/** As long as a command may take, in milliseconds. */
const TIMEOUT_MS = 60_000;

type PeerProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** The peer's interpreter; `npm run test:interop` makes it. */
export function peerPython(): string {
  const python = process.env["ENVPORT_PEER_PYTHON"];
  if (python) return python;
  throw new Error("Cannot find the Python peer: run npm run test:interop, which sets ENVPORT_PEER_PYTHON");
}

/** A program of `python/` whose functions can be called. */
export interface Peer extends AsyncDisposable {
  /**
   * Calls a function of the program and returns what it returns, which is JSON.
   *
   * @throws {Error} With Python's traceback if it raises.
   */
  call(name: string, ...args: unknown[]): Promise<unknown>;
}

/**
 * A program of `python/`, started by the first call.
 *
 * @param file Its name, without `.py`.
 */
export function peer(file: string): Peer {
  let running: RunningPeer | undefined;
  return {
    call: (name, ...args) => (running ??= new RunningPeer(file)).call(name, args),
    [Symbol.asyncDispose]: async () => running?.end(),
  };
}

class RunningPeer {
  readonly #file: string;
  readonly #child: PeerProcess;
  readonly #replies: AsyncIterator<string>;
  #errors = "";

  constructor(file: string) {
    this.#file = `${file}.py`;
    this.#child = start([path.join(FOLDER, this.#file)]);
    this.#child.stderr.setEncoding("utf8").on("data", (chunk: string) => (this.#errors += chunk));
    this.#replies = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  async call(name: string, args: unknown[]): Promise<unknown> {
    this.#child.stdin.write(`${JSON.stringify([name, ...args])}\n`);
    const reply = await this.#replies.next();
    if (reply.done) throw new Error(`${this.#file} ended before ${name} did\n${this.#errors}`);
    const { result, error } = JSON.parse(reply.value) as { result?: unknown; error?: string };
    if (error !== undefined) throw new Error(`${name} of ${this.#file} raised\n${error}`);
    return result;
  }

  async end(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin.end();
    await exited;
  }
}

/** How a command ended. */
export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the peer's own command line: `hud …`. */
export async function hud(...args: string[]): Promise<CommandResult> {
  const child = start(["-m", "hud.cli.__main__", ...args]);
  child.stdin.end();
  const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
  const closed = once(child, "close") as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  clearTimeout(timer);
  return { code, stdout, stderr };
}

/** An environment that the peer serves. */
export interface PeerServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves an environment of `python/` by the peer's own server.
 *
 * @param file Its name, without `.py`.
 * @param env Further variables of its process.
 */
export async function servePeer(file: string, env: Record<string, string> = {}): Promise<PeerServer> {
  const child = start(["-m", "hud.environment.server", path.join(FOLDER, `${file}.py`)], env);
  const errors = text(child.stderr);
  for await (const line of createInterface(child.stdout)) {
    const port = /^HUD_SERVE_PORT=(\d+)$/.exec(line)?.[1];
    if (port === undefined) continue;
    child.stdout.resume();
    return {
      url: `tcp://127.0.0.1:${port}`,
      [Symbol.asyncDispose]: async () => {
        const exited = once(child, "exit");
        if (child.kill("SIGTERM")) await exited;
      },
    };
  }
  throw new Error(`${file}.py did not serve\n${await errors}`);
}

function start(args: string[], env: Record<string, string> = {}): PeerProcess {
  return spawn(peerPython(), args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: path.resolve(peerPython(), "../../home"),
      PYTHONDONTWRITEBYTECODE: "1",
      // Nothing of the peer's may leave this machine.
      HUD_TELEMETRY_ENABLED: "false",
      HUD_CLI_ANALYTICS_ENABLED: "false",
      HUD_SKIP_VERSION_CHECK: "1",
      ...env,
    },
  });
}
