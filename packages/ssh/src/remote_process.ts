import type { Readable, Writable } from "node:stream";
import type { ClientChannel } from "ssh2";
import { channelReadable, channelWritable } from "./_channel_streams.ts";
import type { CommandProcess, ExitStatus } from "./collect_output.ts";

/** How long after `kill` the server may take to say that the channel is closed. */
const KILL_MS = 1_000;

/**
 * A command or shell that runs on the server, with its streams as they come.
 *
 * ```text
 * running ── exits ─────────────▶ `exit` resolves
 *   ├── kill() ─────────────────▶ `exit` resolves, to nulls where the server does not tell
 *   └── the connection is lost ─▶ `exit` and the streams fail with `connection-lost`
 * ```
 *
 * `SshClient.spawn` and `SshClient.shell` make it.
 *
 * @example
 * ```ts no-run
 * import type { SshClient } from "@envport/ssh";
 *
 * async function follow(shell: SshClient): Promise<void> {
 *   await using log = await shell.spawn("tail -f server.log");
 *   for await (const chunk of log.stdout) console.log(String(chunk));
 * }
 * ```
 */
export class RemoteProcess implements CommandProcess, AsyncDisposable {
  /** Its end is the command's end of file. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** With a terminal it stays empty: a terminal has one output. It has to be read, or to be destroyed. */
  readonly stderr: Readable;
  /**
   * How it ended. It may resolve before the last output was read.
   *
   * @throws {EnvportError} `connection-lost`
   */
  readonly exit: Promise<ExitStatus>;
  readonly #channel: ClientChannel;
  #giveUp!: () => void;

  /**
   * @param channel A channel on which a command or shell was started.
   * @param lost Aborts when the connection is gone.
   */
  constructor(channel: ClientChannel, lost: AbortSignal) {
    this.#channel = channel;
    this.exit = new Promise((resolve, reject) => {
      const fail = (): void => {
        reject(lost.reason as Error);
      };
      channel.once("exit", (code: number | null, signal?: string) =>
        resolve({ code, signal: signal ?? null }),
      );
      channel.once("close", () => (lost.aborted ? fail() : resolve({ code: null, signal: null })));
      channel.once("close", () => lost.removeEventListener("abort", fail));
      lost.addEventListener("abort", fail);
      this.#giveUp = () => resolve({ code: null, signal: null });
    });
    this.exit.catch(() => undefined);
    let exited = false;
    channel.once("exit", () => {
      exited = true;
    });
    const missing = (): Error | undefined => (lost.aborted && !exited ? (lost.reason as Error) : undefined);
    this.stdin = channelWritable(channel);
    this.stdout = channelReadable(channel, missing);
    this.stderr = channelReadable(channel.stderr, missing);
  }

  /**
   * Sends a signal to the command and what it started.
   *
   * @param name Such as `SIGINT`. A server that does not know it ignores it.
   */
  signal(name: NodeJS.Signals): void {
    if (!this.#open()) return;
    // ssh2's own method refuses once our input has ended, which is no reason.
    const { _client: client, outgoing } = this.#channel as unknown as ChannelInternals;
    client._protocol.signal(outgoing.id, name.replace(/^SIG/, ""));
  }

  /**
   * Tells the terminal's new size.
   *
   * @param size In characters.
   */
  resize({ rows, cols }: { rows: number; cols: number }): void {
    if (!this.#open()) return;
    const { _client: client, outgoing } = this.#channel as unknown as ChannelInternals;
    client._protocol.windowChange(outgoing.id, rows, cols, 0, 0);
  }

  /** Kills the command, as far as the server lets us, and closes its channel. Idempotent. */
  kill(): void {
    this.signal("SIGKILL");
    setTimeout(this.#giveUp, KILL_MS).unref();
    this.#channel.close();
    this.stdin.destroy();
    this.stderr.resume();
    this.stdout.resume();
  }

  /** The same as `kill`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    await this.exit.catch(() => undefined);
  }

  #open(): boolean {
    const { state } = (this.#channel as unknown as ChannelInternals).outgoing;
    return state === "open" || state === "eof";
  }
}

/** What ssh2 keeps behind a channel. */
interface ChannelInternals {
  outgoing: { id: number; state: "open" | "eof" | "closing" | "closed" };
  _client: {
    _protocol: {
      signal(id: number, name: string): void;
      windowChange(id: number, rows: number, cols: number, height: number, width: number): void;
    };
  };
}
