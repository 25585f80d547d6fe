import type { ChildProcess } from "node:child_process";
import type { DialTarget } from "@envport/wire";

const KILL_AFTER_MS = 5_000;
const MAX_WORDS = 8_192;

/** A browser that runs. */
export interface RunningBrowser {
  readonly child: ChildProcess;
  /** The port of its DevTools, in its own network. */
  readonly port: number;
  /** How it is reached from here. */
  readonly dial: DialTarget;
  /** What it wrote to stderr last, without what it always writes. */
  readonly complaints: () => string;
}

/** Keeps the end of what a browser complains about. */
export function collectComplaints(child: ChildProcess): () => string {
  let text = "";
  child.stderr!.setEncoding("utf8").on("data", (chunk: string) => (text = (text + chunk).slice(-MAX_WORDS)));
  return () =>
    text
      .split("\n")
      .filter((line) => line.trim() !== "" && !/dbus|DevTools listening|unexpected operator/.test(line))
      .slice(-6)
      .join("\n")
      .slice(-1_000);
}

/** How a process ended; it has to have, or will. */
export function exitOf(child: ChildProcess): Promise<string> {
  const told = (): string => child.signalCode ?? `exit code ${String(child.exitCode)}`;
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(told());
  return new Promise((resolve) => {
    child.once("exit", () => resolve(told())).once("error", (error) => resolve(error.message));
  });
}

/**
 * Ends a process and its group: politely, then not.
 *
 * @param politely Whether it may write down its state first.
 */
export async function endProcess(child: ChildProcess, politely: boolean): Promise<void> {
  if (child.pid === undefined) return;
  const exited = exitOf(child);
  const timer = setTimeout(() => killGroup(child), politely ? KILL_AFTER_MS : 0);
  if (politely) child.kill("SIGTERM");
  await exited;
  clearTimeout(timer);
  killGroup(child);
}

function killGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, "SIGKILL");
  } catch {
    // All of it is gone.
  }
}
