/** Programs that run with the Python peer. */
import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/**
 * The interpreter that has the peer.
 *
 * @throws {Error} If the environment names none.
 */
export function peerPython(): string {
  const python = process.env["ENVPORT_PEER_PYTHON"];
  if (python) return python;
  throw new Error(
    "Cannot find the Python peer as ENVPORT_PEER_PYTHON must name a Python that has hud 0.6.21, openpi-client and gymnasium: run npm run test:interop",
  );
}

/** The path of a program in `testdata/`. */
export function peerProgram(file: string): string {
  return fileURLToPath(new URL(`testdata/${file}`, import.meta.url));
}

/** Starts a program; it ends with the test. */
export function startPeer(
  file: string,
  ...words: string[]
): ChildProcessByStdio<Writable, Readable, Readable> {
  const child = spawn(peerPython(), [peerProgram(file), ...words], { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => undefined);
  onTestFinished(async () => {
    // It ends what it started itself, if it is asked to.
    child.kill("SIGINT");
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    clearTimeout(timer);
  });
  return child;
}

/**
 * Runs a program to its end.
 *
 * @returns The JSON behind `REPORT ` in its output.
 * @throws {Error} If there is none.
 */
export async function peerReport<T>(file: string, ...words: string[]): Promise<T> {
  const child = startPeer(file, ...words);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const report = /^REPORT (.*)$/m.exec(out);
  if (!report) throw new Error(`${file} made no report: ${out}${err}`);
  return JSON.parse(report[1]!) as T;
}
