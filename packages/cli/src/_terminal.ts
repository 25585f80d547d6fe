import type { ExitStatus, PtyOptions, RemoteProcess } from "@envport/ssh";

/** Whether a person sits at both ends of this process. */
export function hasTerminal(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/** The name and size of this terminal. */
export function terminalSize(): PtyOptions {
  return {
    term: process.env["TERM"] ?? "xterm-256color",
    rows: process.stdout.rows,
    cols: process.stdout.columns,
  };
}

/**
 * Joins this terminal with one far away until what runs there ends: every key goes there, Ctrl-C too, and so does a new
 * size. The terminal is as before when it resolves or rejects.
 *
 * @throws {EnvportError} `connection-lost`
 */
export async function joinTerminal(remote: RemoteProcess): Promise<ExitStatus> {
  const { stdin, stdout } = process;
  const resize = (): void => remote.resize({ rows: stdout.rows, cols: stdout.columns });
  const output = new Promise<void>((resolve) =>
    remote.stdout.once("end", resolve).once("close", resolve).once("error", resolve),
  );
  stdin.setRawMode(true);
  try {
    stdout.on("resize", resize);
    // It may have changed since it was asked for.
    resize();
    remote.stdin.on("error", () => undefined);
    remote.stderr.on("error", () => undefined).resume();
    remote.stdout.pipe(stdout, { end: false });
    stdin.pipe(remote.stdin, { end: false });
    const status = await remote.exit;
    await output;
    return status;
  } finally {
    stdout.off("resize", resize);
    stdin.unpipe(remote.stdin).pause().setRawMode(false);
  }
}
