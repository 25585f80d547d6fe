/** Programs of `testdata/` that run with the Python peer. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A running program of the peer. */
export interface PeerProgram {
  /** The next line that it prints. */
  readonly line: () => Promise<string>;
  readonly say: (line: string) => void;
}

/**
 * Starts a program; it ends with the test.
 *
 * @param file Its name in `testdata/`.
 * @throws {Error} If the environment names no interpreter that has the peer.
 */
export async function startPeer(file: string, ...words: string[]): Promise<PeerProgram> {
  const python = process.env["ENVPORT_PEER_PYTHON"];
  if (!python) {
    throw new Error("Cannot find the Python peer: run npm run test:interop, which sets ENVPORT_PEER_PYTHON");
  }
  const program = fileURLToPath(new URL(`../testdata/${file}`, import.meta.url));
  const child = spawn(python, [program, ...words], { stdio: "pipe" });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  onTestFinished(async () => {
    child.stdin.end();
    if (child.exitCode === null) await once(child, "exit");
  });
  await once(child, "spawn");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    line: async () => {
      const { value, done } = await lines.next();
      if (done) throw new Error(`Cannot go on as ${file} has ended: ${errors}`);
      return value;
    },
    say: (line) => void child.stdin.write(`${line}\n`),
  };
}
