import type { AbortOptions, Capability } from "@envport/wire";
import { EnvportError, unlessAborted } from "@envport/wire";
import { posix } from "node:path";
import type { Duplex } from "node:stream";
import type { Client, ClientChannel, SFTPWrapper } from "ssh2";
import { channelDuplex } from "./_channel_streams.ts";
import type { Connection } from "./_connection.ts";
import { Link } from "./_link.ts";
import type { RemoteCommand } from "./_remote_command.ts";
import { remoteCommand } from "./_remote_command.ts";
import { SftpFiles } from "./_sftp_files.ts";
import type { SshTarget } from "./_ssh_target.ts";
import { sshTarget } from "./_ssh_target.ts";
import type { CommandResult } from "./collect_output.ts";
import { collectOutput } from "./collect_output.ts";
import type { FileEntry, FileStats } from "./file_stats.ts";
import { PortForward } from "./port_forward.ts";
import { RemoteProcess } from "./remote_process.ts";
import type {
  ForwardOptions,
  PtyOptions,
  ReadFileOptions,
  RunOptions,
  ShellOptions,
  SpawnOptions,
  SshConnectOptions,
  WriteFileOptions,
} from "./ssh_client_options.ts";

const READY_TIMEOUT = 20_000;
const MAX_BYTES = 64 * 1024 * 1024;

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
  readonly #link: Link;
  readonly #files = new WeakMap<Connection, Promise<SftpFiles>>();
  readonly #forwards = new Set<PortForward>();

  private constructor(target: SshTarget, link: Link) {
    this.#target = target;
    this.#link = link;
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
    const target = sshTarget(capability);
    const link = new Link(target, options.readyTimeout ?? READY_TIMEOUT);
    try {
      await link.ready(options.signal);
    } catch (error) {
      void link.close();
      throw error;
    }
    return new SshClient(target, link);
  }

  /** The connection underneath, as the `ssh2` package has it. */
  get conn(): Client {
    const connection = this.#link.current;
    if (!connection) throw new EnvportError("closed", "Cannot use SSH connection as it is closed");
    return connection.client;
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
  async shell(options: ShellOptions = {}): Promise<RemoteProcess> {
    const { env = {}, signal } = options;
    return await this.#start(signal, (client, callback) =>
      client.shell(window(options), { env: { ...env } }, callback),
    );
  }

  /**
   * Reads a regular file, over SFTP.
   *
   * @param path Absolute, or relative to the folder that the binding names.
   * @param options The limit; with `encoding` the content is a string.
   * @throws {FileError} If it is missing, no regular file, too large, or not readable.
   * @throws {EnvportError} `connection-lost`; `unsupported` If the server has no SFTP.
   */
  async readFile(path: string, options: ReadFileOptions & { encoding: "utf8" }): Promise<string>;
  async readFile(path: string, options?: ReadFileOptions): Promise<Buffer>;
  async readFile(path: string, options: ReadFileOptions = {}): Promise<Buffer | string> {
    const { maxBytes = MAX_BYTES, encoding, signal } = options;
    const content = await this.#withFiles(signal, (files) => files.read(this.#resolve(path), maxBytes));
    return encoding === undefined ? content : content.toString(encoding);
  }

  /**
   * Writes a whole file, over SFTP. The folder has to exist.
   *
   * @param path Absolute, or relative to the folder that the binding names.
   * @param data The content.
   * @param options The mode of a new file.
   * @throws {FileError} If it is no regular file, or cannot be written.
   */
  async writeFile(path: string, data: string | Uint8Array, options: WriteFileOptions = {}): Promise<void> {
    const { mode = 0o644, signal } = options;
    await this.#withFiles(signal, (files) => files.write(this.#resolve(path), Buffer.from(data), mode));
  }

  /**
   * Lists a directory, sorted by name, without `.` and `..`.
   *
   * @param path Absolute, or relative to the folder that the binding names.
   * @throws {FileError} If there is no such directory.
   */
  async list(path: string = ".", options: AbortOptions = {}): Promise<FileEntry[]> {
    return await this.#withFiles(options.signal, (files) => files.list(this.#resolve(path)));
  }

  /**
   * Describes a file or directory; symbolic links are followed.
   *
   * @param path Absolute, or relative to the folder that the binding names.
   * @throws {FileError} `ENOENT` If nothing is there.
   */
  async stat(path: string, options: AbortOptions = {}): Promise<FileStats> {
    return await this.#withFiles(options.signal, (files) => files.stat(this.#resolve(path)));
  }

  /**
   * Opens an SFTP session of its own, as the `ssh2` package has it. Its `end` closes it.
   *
   * @throws {EnvportError} `connection-lost`; `unsupported` If the server has no SFTP.
   */
  async sftp(options: AbortOptions = {}): Promise<SFTPWrapper> {
    const { sftp } = await this.#openSftp(options.signal);
    return sftp;
  }

  /**
   * Makes a port that the server can reach a port here, on 127.0.0.1. It outlives a lost connection.
   *
   * @param port The port as the server sees it.
   * @param options The host as the server sees it, and the local port.
   */
  async forward(port: number, options: ForwardOptions = {}): Promise<PortForward> {
    const { host = "127.0.0.1" } = options;
    await this.#link.ready(undefined);
    const open = (client: Client, callback: ClientCallback): unknown =>
      client.forwardOut("127.0.0.1", 0, host, port, callback);
    const wrap = (channel: ClientChannel, lost: AbortSignal): Duplex =>
      channelDuplex(channel, () => (lost.aborted ? (lost.reason as Error) : undefined));
    const forward = await PortForward.listen(
      () => this.#link.channel({ act: "forward port", open, wrap, discard: closeChannel }),
      options,
    );
    this.#forwards.add(forward);
    return forward;
  }

  /** Ends the connection, and with it every command and forwarded port. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([...this.#forwards].map((forward) => forward.close()));
    this.#forwards.clear();
    await this.#link.close();
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #exec(command: RemoteCommand, { signal, pty = false }: SpawnOptions): Promise<RemoteProcess> {
    const options = pty === false ? {} : { pty: window(pty === true ? {} : pty) };
    return this.#start(signal, (client, callback) => client.exec(command.line, options, callback));
  }

  /** Opens a channel and makes a process of it, that the signal kills. */
  async #start(
    signal: AbortSignal | undefined,
    open: (client: Client, callback: ClientCallback) => unknown,
  ): Promise<RemoteProcess> {
    const wrap = (channel: ClientChannel, lost: AbortSignal): RemoteProcess =>
      new RemoteProcess(channel, lost);
    const request = { act: "start command", open, wrap, discard: closeChannel };
    const process = await this.#link.channel(request, signal);
    if (signal) {
      const kill = (): void => process.kill();
      if (signal.aborted) kill();
      signal.addEventListener("abort", kill);
      const settled = (): void => signal.removeEventListener("abort", kill);
      process.exit.then(settled, settled);
    }
    return process;
  }

  #openSftp(signal: AbortSignal | undefined): Promise<{ sftp: SFTPWrapper; lost: AbortSignal }> {
    const open = (client: Client, callback: (error: Error | undefined, sftp: SFTPWrapper) => void): unknown =>
      client.sftp(callback);
    const wrap = (
      sftp: SFTPWrapper,
      lost: AbortSignal,
    ): {
      sftp: SFTPWrapper;
      lost: AbortSignal;
    } => ({ sftp: sftp.on("error", () => undefined), lost });
    return this.#link.channel({ act: "open SFTP", open, wrap, discard: (sftp) => sftp.end() }, signal);
  }

  /** All file operations of a connection share one SFTP session. */
  async #withFiles<T>(
    signal: AbortSignal | undefined,
    operation: (files: SftpFiles) => Promise<T>,
  ): Promise<T> {
    const connection = await this.#link.ready(signal);
    let opened = this.#files.get(connection);
    if (!opened) {
      opened = this.#openSftp(undefined).then(({ sftp, lost }) => {
        sftp.once("close", () => this.#files.delete(connection));
        return new SftpFiles(sftp, lost);
      });
      opened.catch(() => this.#files.delete(connection));
      this.#files.set(connection, opened);
    }
    return await unlessAborted(opened.then(operation), signal);
  }

  #resolve(path: string): string {
    if (path === "" || path.includes("\0")) {
      throw new TypeError(
        `Cannot use path as it must be text without NUL: current value is ${JSON.stringify(path)}`,
      );
    }
    return this.#target.cwd === undefined ? path : posix.resolve(this.#target.cwd, path);
  }
}

type ClientCallback = (error: Error | undefined, channel: ClientChannel) => void;

function closeChannel(channel: ClientChannel): void {
  channel.close();
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
