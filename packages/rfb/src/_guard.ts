import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";

/** The variable by which everything that was started on a screen is known. */
const MARK = "ENVPORT_SCREEN";

/**
 * Waits for the end of its input, then ends every process with the mark, first kindly, and removes the folder. A list of
 * processes would not do: programs leave their group and their parent, but not their environment.
 */
const SCRIPT = `
read -r _
tries=0
while [ $tries -lt 200 ]; do
  signal=TERM; [ $tries -lt 40 ] || signal=KILL
  found=
  for file in $(grep -lsz "^${MARK}=$1\\$" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}; pid=\${pid%/environ}
    [ "$signal" = TERM ] && [ $tries -gt 0 ] || kill -$signal "$pid" 2>/dev/null
    found=1
  done
  [ "$found" ] || break
  sleep 0.05
  tries=$((tries + 1))
done
rm -rf -- "$2"
`;

/** Ends what was started with its mark when it is told to, or when this process is gone, however that came. */
export class Guard {
  /** Variables that mark a process. */
  readonly env: Readonly<Record<string, string>>;
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;
  #ending = false;

  /** @param folder Removed at the end. */
  constructor(folder: string) {
    const id = randomUUID();
    this.env = { [MARK]: id };
    // Its input is a pipe that nobody else holds: the system closes it even when this process is killed.
    this.#process = spawn("sh", ["-c", SCRIPT, "envport-screen-guard", id, folder], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      env: { PATH: process.env["PATH"] },
    });
    this.#exited = once(this.#process, "exit").catch(() => undefined);
    this.#process.unref();
  }

  /** Whether it was told to end everything. */
  get ending(): boolean {
    return this.#ending;
  }

  /** Ends everything, and resolves when nothing is left. */
  async end(): Promise<void> {
    this.#ending = true;
    this.#process.ref();
    this.#process.stdin?.end();
    await this.#exited;
  }
}
