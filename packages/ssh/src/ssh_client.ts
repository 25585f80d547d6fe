import type { AbortOptions, Capability } from "@envport/wire";
import { EnvportError } from "@envport/wire";
import type { Client, ClientChannel } from "ssh2";
import type { Connection } from "./_connection.ts";
import { openConnection } from "./_connection.ts";
import type { RemoteCommand } from "./_remote_command.ts";
import { remoteCommand } from "./_remote_command.ts";
import type { SshTarget } from "./_ssh_target.ts";
import { sshTarget } from "./_ssh_target.ts";
import type { CollectOptions, CommandResult } from "./collect_output.ts";
import { collectOutput } from "./collect_output.ts";
import { RemoteProcess } from "./remote_process.ts";

/** Options of {@linkcode SshClient.connect}. */
export interface SshConnectOptions extends AbortOptions {
  /**
   * Milliseconds from the dial to the login.
   *
   * @default {20_000}
   */
  readyTimeout?: number | undefined;
}

/** A terminal's name and size. */
export interface PtyOptions {
  /** @default {"xterm-256color"} */
  term?: string | undefined;
  /** @default {24} */
  rows?: number | undefined;
  /** @default {80} */
  cols?: number | undefined;
}

/** Options of {@linkcode SshClient.spawn}. */
export interface SpawnOptions extends AbortOptions {
  /**
   * The folder to start in.
   *
   * @default where the server starts commands
   */
  cwd?: string | undefined;
  /** Variables on top of the server's own. */
  env?: Readonly<Record<string, string>> | undefined;
  /**
   * Runs the command in a terminal: `true`, or its name and size.
   *
   * @default {false}
   */
  pty?: boolean | PtyOptions | undefined;
}

/** Options of {@linkcode SshClient.run}. */
export interface RunOptions extends Omit<SpawnOptions, "pty">, CollectOptions {}

const READY_TIMEOUT = 20_000;

/**
 * A shell on a server of the family `ssh/2`. The server's key is checked against the one that the binding names.
 *
 * ```text
 * connected ── the connection is lost ─▶ what was under way fails with `connection-lost`, and is never sent again
 *     │                                    └─ the next call ─▶ connected
 *     └── close() ─▶ closed
 * ```
 *
 * @example
 * ```ts no-run
 * import { connect } from "@envport/client";
 * import { ssh } from "@envport/ssh";
 *
 * await using client = await connect("tcp://127.0.0.1:8765");
 * const shell = await client.open(ssh);
 * const { stdout } = await shell.run(["ls", "-l"], { cwd: "/workspace" });
 * ```
 */
export class SshClient implements AsyncDisposable {
  readonly #target: SshTarget;
  readonly #readyTimeout: number;
  #connection: Promise<Connection>;
  #current: Connection | undefined;
  #closed = false;

  private constructor(target: SshTarget, options: SshConnectOptions) {
    this.#target = target;
    this.#readyTimeout = options.readyTimeout ?? READY_TIMEOUT;
    this.#connection = this.#open(options.signal);
  }

  /**
   * Connects and logs in.
   *
   * @param capability A binding, its url one that can be dialled from here.
   * @param options The time allowed.
   * @throws {EnvportError} `host-key-mismatch` If the server proves another key than `host_pubkey`; nothing was sent.
   * @throws {EnvportError} `authentication-failed`, `timeout`, `connection-lost`, `invalid-value`
   */
  static async connect(capability: Capability, options: SshConnectOptions = {}): Promise<SshClient> {
    const client = new SshClient(sshTarget(capability), options);
    await client.#connection;
    return client;
  }

  /** The connection underneath, as the `ssh2` package has it. */
  get conn(): Client {
    if (this.#closed || !this.#current)
      throw new EnvportError("closed", "Cannot use SSH connection as it is closed");
    return this.#current.client;
  }

  /**
   * Runs a command and gathers what it writes.
   *
   * @param command A script for the server's shell, or a program and its arguments, which reach it as they are. It may
   * be of any length.
   * @param options Folder, variables, input and limits.
   * @throws {EnvportError} `connection-lost` If the connection breaks while the command runs; it is not run again.
   * @throws {TypeError} If the command is empty or holds a NUL.
   */
  async run(command: string | readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const { cwd, env, input, ...limits } = options;
    const prepared = remoteCommand(command, { cwd, env }, this.#target.shell);
    const process = await this.#exec(prepared, { signal: options.signal });
    return await collectOutput(process, { ...limits, input: join(prepared.head, input) });
  }

  /**
   * Starts a command and hands over its streams.
   *
   * @param command As in `run`.
   * @param options Folder, variables, a terminal. The signal kills the command.
   * @throws {EnvportError} `connection-lost`, `unsupported`
   */
  async spawn(command: string | readonly string[], options: SpawnOptions = {}): Promise<RemoteProcess> {
    const prepared = remoteCommand(command, options, this.#target.shell);
    const { pty = false } = options;
    if (pty !== false && prepared.head) {
      throw new RangeError(
        "Cannot run command in a terminal as it must be at most 30000 bytes: current value is longer",
      );
    }
    const process = await this.#exec(prepared, options);
    if (prepared.head) process.stdin.write(prepared.head);
    return process;
  }

  /**
   * Starts the login shell in a terminal.
   *
   * @param options The terminal, and variables as far as the server takes them. The signal kills the shell.
   * @throws {EnvportError} `connection-lost`, `unsupported`
   */
  async shell(
    options: PtyOptions & { env?: Readonly<Record<string, string>> } & AbortOptions = {},
  ): Promise<RemoteProcess> {
    const { env = {}, signal } = options;
    return await this.#start(signal, (client, callback) => {
      client.shell(window(options), { env: { ...env } }, callback);
    });
  }

  /** Ends the connection, and with it every command that runs. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    const connection = await this.#connection.catch(() => undefined);
    await connection?.end();
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #exec(command: RemoteCommand, { signal, pty = false }: SpawnOptions): Promise<RemoteProcess> {
    return this.#start(signal, (client, callback) => {
      const options = pty === false ? {} : { pty: window(pty === true ? {} : pty) };
      client.exec(command.line, options, callback);
    });
  }

  /** Opens a channel and makes a process of it, that the signal kills. */
  async #start(signal: AbortSignal | undefined, open: OpenChannel): Promise<RemoteProcess> {
    const { client, lost } = await this.#ready(signal);
    const channel = await openChannel(client, lost, signal, open);
    const process = new RemoteProcess(channel, lost);
    if (signal) {
      const kill = (): void => process.kill();
      signal.addEventListener("abort", kill);
      const settled = (): void => signal.removeEventListener("abort", kill);
      process.exit.then(settled, settled);
    }
    return process;
  }

  /** The connection, opened anew if it was lost. */
  async #ready(signal: AbortSignal | undefined): Promise<Connection> {
    signal?.throwIfAborted();
    if (this.#closed) throw new EnvportError("closed", "Cannot run command as the SSH client is closed");
    const connection = await this.#connection.catch(() => undefined);
    if (connection && !connection.lost.aborted) return connection;
    if (this.#current === connection) {
      this.#current = undefined;
      this.#connection = this.#open(signal);
    }
    return await this.#connection;
  }

  async #open(signal: AbortSignal | undefined): Promise<Connection> {
    const connection = await openConnection(this.#target, { signal, readyTimeout: this.#readyTimeout });
    this.#current = connection;
    return connection;
  }
}

type OpenChannel = (
  client: Client,
  callback: (error: Error | undefined, channel: ClientChannel) => void,
) => void;

/** Opens a channel; one that comes after the signal is closed again. */
async function openChannel(
  client: Client,
  lost: AbortSignal,
  signal: AbortSignal | undefined,
  open: OpenChannel,
): Promise<ClientChannel> {
  signal?.throwIfAborted();
  return await new Promise<ClientChannel>((resolve, reject) => {
    const settle = (error: Error | undefined, channel?: ClientChannel): void => {
      signal?.removeEventListener("abort", abort);
      if (signal?.aborted) channel?.close();
      else if (channel) resolve(channel);
      else if (lost.aborted) reject(lost.reason as Error);
      else reject(refused(error));
    };
    const abort = (): void => {
      reject(signal!.reason as Error);
    };
    signal?.addEventListener("abort", abort);
    try {
      open(client, settle);
    } catch (error) {
      reject(
        lost.aborted ? (lost.reason as Error) : new EnvportError("connection-lost", (error as Error).message),
      );
    }
  });
}

function refused(error: Error | undefined): EnvportError {
  const reason = error?.message ?? "no reason given";
  return new EnvportError("unsupported", `Cannot start command as the SSH server refuses it: ${reason}`, {
    cause: error,
  });
}

function window({ term = "xterm-256color", rows = 24, cols = 80 }: PtyOptions): {
  term: string;
  rows: number;
  cols: number;
} {
  return { term, rows, cols };
}

function join(head: Buffer | undefined, input: string | Uint8Array = ""): string | Uint8Array {
  return head === undefined ? input : Buffer.concat([head, Buffer.from(input)]);
}
