import type { SandboxCommand, SandboxExit, SandboxProcess } from "@envport/sandbox";
import type { AbortOptions } from "@envport/wire";
import { spawn } from "node:child_process";
import type { ChildProcess, ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import type { Duplex, Readable, Writable } from "node:stream";
import { HostTerminal, terminalArgv } from "./_host_terminal.ts";
import type { Runner } from "./_runner.ts";

/** How long output of an exited command may still be on its way while a background process holds it open. */
const LINGER_MS = 100;
/** From SIGHUP to SIGKILL. */
const KILL_MS = 2_000;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Runs sessions on this machine, with its files and its network: `isolation: "none"`. */
export class HostRunner implements Runner {
  readonly #cwd: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #children = new Set<ChildProcess>();

  /**
   * @param cwd Where commands start.
   * @param env Their environment, whole.
   */
  constructor(cwd: string, env: Readonly<Record<string, string>>) {
    this.#cwd = cwd;
    this.#env = env;
  }

  async start(): Promise<void> {}

  async spawn(command: SandboxCommand, { signal }: AbortOptions = {}): Promise<SandboxProcess> {
    signal?.throwIfAborted();
    const { argv, env, cwd = this.#cwd, pty } = command;
    const [program, ...rest] = pty ? terminalArgv(argv, pty) : argv;
    const term = pty?.term === undefined ? {} : { TERM: pty.term };
    const child = spawn(program!, rest, {
      cwd,
      env: { ...this.#env, ...term, ...env },
      stdio: ["pipe", "pipe", "pipe", ...(pty ? (["pipe"] as const) : [])],
      detached: true,
    }) as Child;
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    await once(child, "spawn").catch((error: unknown) => {
      throw Object.assign(new Error("Cannot start program", { cause: error }), { code: "spawn-failed" });
    });
    const process = hostProcess(child, pty && new HostTerminal(child));
    const kill = (): void => process.kill();
    signal?.addEventListener("abort", kill);
    void process.exit.then(() => signal?.removeEventListener("abort", kill));
    return process;
  }

  async connect(port: number, { signal }: AbortOptions = {}): Promise<Duplex> {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    await once(socket, "connect", { signal });
    return socket;
  }

  stop(): Promise<void> {
    for (const child of this.#children) signalGroup(child, "SIGKILL");
    return Promise.resolve();
  }
}

function hostProcess(child: Child, terminal: HostTerminal | undefined): SandboxProcess {
  child.stdin.on("error", () => undefined);
  const exit = new Promise<SandboxExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const output = (source: Readable): Readable => source.pipe(endingWith(source, exit));
  const [stdout, stderr] = [output(child.stdout), output(child.stderr)];
  if (terminal !== undefined) stderr.resume();
  return {
    pid: child.pid!,
    stdin: child.stdin,
    stdout,
    stderr: terminal === undefined ? stderr : undefined,
    exit,
    signal: (name) => signalGroup(child, name),
    kill: () => {
      signalGroup(child, "SIGHUP");
      const timer = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_MS).unref();
      void exit.then(() => clearTimeout(timer));
    },
    resize: (size) => terminal?.resize(size),
  };
}

/** Ends soon after the process, whatever a background process still holds open; never while its reader is behind. */
function endingWith(source: Readable, exit: Promise<unknown>): PassThrough {
  const copy = new PassThrough();
  copy.once("close", () => source.destroy());
  let seen = 0;
  source.on("data", () => seen++);
  void exit.then(() => {
    const wait = (): void => {
      const before = seen;
      // What came during a busy moment is read between the timer and the check.
      const look = (): void => {
        if (copy.writableEnded || copy.destroyed) return;
        if (seen === before && !copy.writableNeedDrain) copy.end();
        else wait();
      };
      setTimeout(() => setImmediate(look), LINGER_MS);
    };
    wait();
  });
  return copy;
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    child.kill(name);
  }
}
