import { EnvportError, makePrivateFolder, removePrivateFolder } from "@envport/wire";
import type { AbortOptions, PublishedCapability } from "@envport/wire";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Worker } from "node:worker_threads";
import { connectToSim, RemoteSim } from "./_remote_sim.ts";
import type { Sim } from "./_sim.ts";
import { PORT_ANNOUNCEMENT, SOCKET_VARIABLE, STOP_MESSAGE } from "./_sim_program.ts";

/** How long a simulator may take to end by itself, in milliseconds. */
const STOP_MS = 2_000;

/** A process or worker that has been started. */
interface Started {
  readonly stdout: Readable;
  /** Resolves when it is gone, to how it went. */
  readonly exited: Promise<string>;
  ask(): void;
  kill(): Promise<unknown>;
}

/** What a simulator's program needs. */
export interface SpawnSimOptions extends AbortOptions {
  readonly connectTimeout: number;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly workerData?: unknown;
  /** Told what it prints, line by line. */
  readonly onLine: (line: string) => void;
}

/** Starts a program, which prints the port of its control channel. */
export async function spawnSim(command: readonly string[], options: SpawnSimOptions): Promise<Sim> {
  return await start(options, (env) => startProcess(command, options, env));
}

/** Starts a module in a worker thread, which does the same. */
export async function spawnWorkerSim(url: URL, options: SpawnSimOptions): Promise<Sim> {
  return await start(options, (env) => startWorker(url, options, env));
}

async function start(options: SpawnSimOptions, launch: (env: NodeJS.ProcessEnv) => Started): Promise<Sim> {
  const { connectTimeout, signal, onLine } = options;
  const folder = makePrivateFolder();
  const path = join(folder, "robot.sock");
  const started = launch({ ...process.env, ...options.env, [SOCKET_VARIABLE]: path });
  const end = async (): Promise<void> => {
    started.ask();
    const timer = setTimeout(() => void started.kill(), STOP_MS);
    await started.exited;
    clearTimeout(timer);
    removePrivateFolder(folder);
  };
  const gone = new AbortController();
  void started.exited.then((how) => {
    gone.abort(new EnvportError("service-failed", `Cannot start simulator as it ended first: ${how}`));
  });
  try {
    const combined = AbortSignal.any(signal ? [signal, gone.signal] : [gone.signal]);
    const port = await announcedPort(started.stdout, connectTimeout, combined, onLine);
    const rpc = await connectToSim(
      { host: "127.0.0.1", port },
      { timeout: connectTimeout, signal: combined },
    );
    const isPrivate = existsSync(path);
    const locate = (capability: PublishedCapability): PublishedCapability =>
      isPrivate && capability.protocol.startsWith("openpi/") ? { ...capability, dial: { path } } : capability;
    return new ProgramSim(new RemoteSim(rpc, locate, end), started.exited);
  } catch (error) {
    await end();
    throw error;
  }
}

/** Says how the process ended, where the connection only knows that it is gone. */
class ProgramSim implements Sim {
  readonly closed: Promise<Error | undefined>;
  readonly capabilities: Sim["capabilities"];
  readonly reset: Sim["reset"];
  readonly result: Sim["result"];
  readonly release: Sim["release"];
  readonly stop: Sim["stop"];

  constructor(sim: Sim, exited: Promise<string>) {
    this.closed = sim.closed.then(async (reason) => {
      if (!reason) return undefined;
      const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), STOP_MS).unref());
      const how = await Promise.race([exited, late]);
      return how === undefined ? reason : new EnvportError("connection-lost", `The simulator ended: ${how}`);
    });
    this.capabilities = (name) => sim.capabilities(name);
    this.reset = (args) => sim.reset(args);
    this.result = (token) => sim.result(token);
    this.release = (token) => sim.release(token);
    this.stop = () => sim.stop();
  }
}

function startProcess(command: readonly string[], { cwd }: SpawnSimOptions, env: NodeJS.ProcessEnv): Started {
  const [program, ...args] = command;
  // A group of its own, so that what it starts ends with it.
  const child = spawn(program!, args, { cwd, env, detached: true, stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => {});
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, name);
    } catch {
      // It is gone.
    }
  };
  const killNow = (): void => signal("SIGKILL");
  process.once("exit", killNow);
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    child.once("exit", (code, name) => resolve(name ?? `exit code ${String(code)}`));
  });
  void exited.then(() => {
    process.off("exit", killNow);
    // Whatever is left of the group.
    killNow();
  });
  return {
    stdout: child.stdout,
    exited,
    ask: () => signal("SIGTERM"),
    kill: async () => {
      killNow();
      await exited;
    },
  };
}

function startWorker(url: URL, { workerData }: SpawnSimOptions, env: NodeJS.ProcessEnv): Started {
  const worker = new Worker(url, { env, workerData, stdout: true });
  return {
    stdout: worker.stdout,
    exited: new Promise((resolve) => {
      worker.once("error", (error: Error) => resolve(error.message));
      worker.once("exit", (code) => resolve(`exit code ${String(code)}`));
    }),
    ask: () => worker.postMessage(STOP_MESSAGE),
    kill: () => worker.terminate(),
  };
}

/** Waits for the line with the port; all others, also later ones, are passed on. */
async function announcedPort(
  stdout: Readable,
  timeout: number,
  signal: AbortSignal,
  onLine: (line: string) => void,
): Promise<number> {
  signal.throwIfAborted();
  return await new Promise<number>((resolve, reject) => {
    const fail = (): void => reject(signal.reason as Error);
    const timer = setTimeout(
      () =>
        reject(
          new EnvportError(
            "not-ready",
            `Cannot start simulator as it must print ${PORT_ANNOUNCEMENT}<port> within ${String(timeout)} ms`,
          ),
        ),
      Math.min(timeout, 2 ** 31 - 1),
    );
    signal.addEventListener("abort", fail, { once: true });
    createInterface(stdout).on("line", (line) => {
      const port = line.startsWith(PORT_ANNOUNCEMENT) ? Number(line.slice(PORT_ANNOUNCEMENT.length)) : 0;
      if (!Number.isInteger(port) || port < 1 || port > 65_535) {
        onLine(line);
        return;
      }
      clearTimeout(timer);
      signal.removeEventListener("abort", fail);
      resolve(port);
    });
    stdout.once("close", () => clearTimeout(timer));
  });
}
