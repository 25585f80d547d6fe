import { FileTrackingServer } from "@envport/filetracking";
import type { SandboxReport } from "@envport/sandbox";
import { collectOutput, sshCapability } from "@envport/ssh";
import type { CollectOptions, CommandResult } from "@envport/ssh";
import { EnvportError, Lifecycle, makePrivateFolder, removePrivateFolder } from "@envport/wire";
import type { AbortOptions, PublishedCapability, Service } from "@envport/wire";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellArgv } from "./_session_argv.ts";
import { SshDaemon } from "./_ssh_daemon.ts";
import { loadKeys } from "./_ssh_keys.ts";
import type { WorkspaceKeys } from "./_ssh_keys.ts";
import { WorkspaceFiles } from "./_workspace_files.ts";
import { WorkspacePlace } from "./_workspace_place.ts";
import type { WorkspaceOptions } from "./workspace_options.ts";
import type { FileStats } from "@envport/ssh";

/** Options of {@linkcode Workspace.run}. */
export interface WorkspaceRunOptions extends CollectOptions {
  /** Variables on top of the workspace's own. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * The folder inside to run in.
   *
   * @default the workspace's directory
   */
  readonly cwd?: string | undefined;
}

/** Options of {@linkcode Workspace.readFile}. */
export interface WorkspaceReadOptions extends AbortOptions {
  /**
   * The largest file that is read; a larger one is refused, not cut.
   *
   * @default 64 MiB
   */
  readonly maxBytes?: number | undefined;
  /** Decodes the content. */
  readonly encoding?: "utf8" | undefined;
}

/** Options of {@linkcode Workspace.writeFile}. */
export interface WorkspaceWriteOptions extends AbortOptions {
  /**
   * Permission bits of a new file.
   *
   * @default {0o644}
   */
  readonly mode?: number | undefined;
}

const MAX_BYTES = 64 * 1024 * 1024;

/** What is there between `start` and `stop`. */
interface Serving {
  readonly daemon: SshDaemon;
  readonly tracking: FileTrackingServer | undefined;
  readonly keys: WorkspaceKeys;
  /** A private folder for the socket, and for the client's key if someone asks for a file. */
  readonly folder: string;
  readonly url: string;
  readonly dial: { path: string } | undefined;
  keyPath: string | undefined;
}

/**
 * A directory, served as `ssh/2` from inside a sandbox: what a coding agent lives in. Every session, and every call of a
 * grader, runs in the same persistent sandbox.
 *
 * ```text
 * idle ── start() ─▶ serving ── stop() ─▶ idle
 *   └── run, readFile, writeFile, stat: start the sandbox where none runs
 * ```
 *
 * @example
 * ```ts
 * import { SshClient } from "@envport/ssh";
 * import { Workspace } from "@envport/workspace";
 * import assert from "node:assert/strict";
 * import { mkdtemp } from "node:fs/promises";
 *
 * await using workspace = new Workspace(await mkdtemp("/tmp/workspace-"), { port: 0 });
 * await workspace.start();
 * await workspace.writeFile("hello.txt", "hello");
 * await using shell = await SshClient.connect(workspace.capability());
 * assert.equal((await shell.run("cat hello.txt")).stdout, "hello");
 * ```
 */
export class Workspace implements Service, AsyncDisposable {
  readonly #options: WorkspaceOptions;
  readonly #place: WorkspacePlace;
  readonly #files: WorkspaceFiles;
  readonly #lifecycle: Lifecycle<Serving>;
  #closed: Promise<Error | undefined> = Promise.resolve(undefined);
  #resolveClosed: (reason: Error | undefined) => void = () => undefined;

  /**
   * Nothing happens yet.
   *
   * @param root The directory; a relative one is below the current folder. It is made at start.
   * @param options What it shows, where it listens, whom it lets in.
   */
  constructor(root: string, options: WorkspaceOptions = {}) {
    this.#options = options;
    this.#place = new WorkspacePlace(root, options);
    this.#files = new WorkspaceFiles(this.#place, this.#place.nodePath);
    this.#lifecycle = new Lifecycle({
      name: this.name,
      start: (abort) => this.#start(abort),
      stop: (serving) => this.#stop(serving),
    });
  }

  /** What errors and logs call it. */
  get name(): string {
    return `workspace '${this.#options.name ?? "shell"}'`;
  }

  /** The directory on this machine. Read it through `readFile`: here an agent's links lead anywhere. */
  get root(): string {
    return this.#place.root;
  }

  /** Where the directory appears to commands. */
  get guestPath(): string {
    return this.#place.cwd;
  }

  /** Whether bubblewrap separates commands from this machine. */
  get bwrapAvailable(): boolean {
    return this.#place.isolation === "bwrap";
  }

  /** What is in force in the sandbox: user, network, limits; undefined where none has been started, or is wanted. */
  get report(): SandboxReport | undefined {
    return this.#place.report;
  }

  /** Whether changes of files are tracked, and published as a second capability. */
  get tracksFiles(): boolean {
    return this.#options.trackFiles ?? false;
  }

  /** The user to log in as. */
  get sshUser(): string {
    return this.#options.user ?? "agent";
  }

  /**
   * Where the server listens.
   *
   * @throws {EnvportError} `closed` If it is not started; so do the next two.
   */
  get sshUrl(): string {
    return this.#lifecycle.running.url;
  }

  /** The server's public key in one line. */
  get sshHostPubkey(): string {
    return this.#lifecycle.running.keys.hostPubkey;
  }

  /** A file with the client's private key, made when it is first asked for; undefined with `authorizedClientKeys`. */
  get sshClientKeyPath(): string | undefined {
    const serving = this.#lifecycle.running;
    if (serving.keyPath === undefined && serving.keys.client !== undefined) {
      serving.keyPath = join(serving.folder, "client_key");
      writeFileSync(serving.keyPath, serving.keys.client, { mode: 0o600, flag: "wx" });
    }
    return serving.keyPath;
  }

  /** Resolves when the server of the latest start is gone: to undefined after a `stop`, else to the reason. */
  get closed(): Promise<Error | undefined> {
    return this.#closed;
  }

  /**
   * Starts the sandbox and the server, and takes the baseline of file tracking. Idempotent.
   *
   * @returns What to publish: the shell, and with `trackFiles` the file tracking.
   * @throws {EnvportError} `service-failed` If this machine cannot sandbox, or a mount or key cannot be used.
   * @throws {EnvportError} `address-in-use`
   */
  async start(options: AbortOptions = {}): Promise<readonly PublishedCapability[]> {
    await this.#lifecycle.start(options);
    return this.tracksFiles ? [this.capability(), this.fileTrackingCapability()] : [this.capability()];
  }

  /** Ends every session, and everything that runs inside. Idempotent; it may be started again. */
  async stop(): Promise<void> {
    // Graders may have started the sandbox without the server.
    await Promise.all([this.#lifecycle.stop(), this.#place.stop()]);
  }

  /** The same as `stop`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * The capability as it is published.
   *
   * @param name The capability's name.
   * @throws {EnvportError} `closed` If it is not started.
   */
  capability(name: string = this.#options.name ?? "shell"): PublishedCapability {
    const { url, keys, dial } = this.#lifecycle.running;
    const capability = sshCapability({
      name,
      url,
      user: this.sshUser,
      hostPubkey: keys.hostPubkey,
      clientKey: keys.client,
      shell: "bash",
      cwd: this.guestPath,
      isolation: this.#place.isolation,
    });
    return dial === undefined ? capability : { ...capability, dial };
  }

  /**
   * Runs a command in the sandbox, for graders: nothing that the agent may have put into shell profiles is read.
   *
   * @param command A program and its arguments, or a script for bash.
   * @param options Input, limits, variables.
   * @throws {Error} If the program cannot be started.
   */
  async run(command: string | readonly string[], options: WorkspaceRunOptions = {}): Promise<CommandResult> {
    const { env, cwd, ...collect } = options;
    const argv = typeof command === "string" ? ["bash", "-c", command] : command;
    const process = await this.#place.spawn({ argv, env, cwd }, { signal: options.signal });
    return await collectOutput(process, collect);
  }

  /**
   * Reads a regular file as the sandbox sees it. Symbolic links are not followed, pipes and devices are refused.
   *
   * @param path Absolute, or relative to the workspace's directory.
   * @param options The limit; with `encoding` the content is a string.
   * @throws {FileError} If it is missing, no regular file, too large, or not readable.
   */
  async readFile(path: string, options: WorkspaceReadOptions & { encoding: "utf8" }): Promise<string>;
  async readFile(path: string, options?: WorkspaceReadOptions): Promise<Buffer>;
  async readFile(path: string, options: WorkspaceReadOptions = {}): Promise<Buffer | string> {
    const content = await this.#files.read(path, options.maxBytes ?? MAX_BYTES, options);
    return options.encoding === undefined ? content : content.toString(options.encoding);
  }

  /**
   * Writes a regular file as the sandbox's user, and makes the folders above it. Symbolic links are not followed.
   *
   * @param path Absolute, or relative to the workspace's directory.
   * @param data The whole content.
   * @throws {FileError} If something else is there, or it cannot be written.
   */
  async writeFile(
    path: string,
    data: string | Uint8Array,
    options: WorkspaceWriteOptions = {},
  ): Promise<void> {
    await this.#files.write(path, data, options.mode ?? 0o644, options);
  }

  /**
   * Describes what a name stands for, a symbolic link itself included.
   *
   * @param path Absolute, or relative to the workspace's directory.
   * @throws {FileError} `ENOENT` If nothing is there.
   */
  async stat(path: string, options: AbortOptions = {}): Promise<FileStats> {
    return await this.#files.stat(path, options);
  }

  /**
   * The program and arguments of a session, for a process of your own.
   *
   * @param command The command; without one it is an interactive shell.
   */
  shellArgv(command?: string): string[] {
    return shellArgv(command, this.#place.path);
  }

  /**
   * The program and arguments of a process of your own, in a sandbox of its own around the same directory: the same
   * mounts, variables and user, but no seccomp filter, limits or proxy. `run` is the better way where it will do.
   *
   * @param command What to run; without isolation it comes back as it is.
   */
  bwrapArgv(command: readonly string[]): string[] {
    return this.#place.bwrapArgv(command);
  }

  /**
   * The capability of file tracking as it is published: `filetracking`, or `<name>-filetracking` for a workspace with a
   * name of its own.
   *
   * @param name The capability's name.
   * @throws {EnvportError} `closed` If it is not started; `unsupported` unless `trackFiles` is set.
   */
  fileTrackingCapability(name: string = this.#trackingName): PublishedCapability {
    const { tracking } = this.#lifecycle.running;
    if (tracking) return { ...tracking.capability, name };
    throw new EnvportError(
      "unsupported",
      `Cannot describe capability '${name}' as files are not tracked: current value of 'trackFiles' is ${String(this.tracksFiles)}`,
    );
  }

  get #trackingName(): string {
    const { name = "shell" } = this.#options;
    return name === "shell" ? "filetracking" : `${name}-filetracking`;
  }

  async #start({ signal }: AbortOptions): Promise<Serving> {
    const { hostKeyPath, authorizedClientKeys, host, port, log = logToConsole } = this.#options;
    await this.#place.start({ signal });
    for (const warning of this.report?.warnings ?? []) log(warning, undefined);
    const keys = await loadKeys({ hostKeyPath, authorizedClientKeys });
    const { path, cwd } = this.#place;
    const daemon = new SshDaemon({ user: this.sshUser, keys, runner: this.#place, path, cwd, log });
    const folder = makePrivateFolder();
    const onTcp = host !== undefined || port !== undefined;
    const target = onTcp
      ? { host: host ?? "127.0.0.1", port: port ?? 0 }
      : { path: join(folder, "ssh.sock") };
    const tracking = this.tracksFiles ? this.#newTracking(onTcp ? target.host : undefined) : undefined;
    try {
      const bound = await daemon.listen(target, { signal });
      await tracking?.start({ signal });
      void tracking?.closed.then((reason) => {
        if (reason) log("file tracking has ended", reason);
      });
      this.#closed = new Promise((resolve) => (this.#resolveClosed = resolve));
      const address = target.host !== undefined ? `${bracket(target.host)}:${String(bound)}` : "127.0.0.1:22";
      const dial = target.path === undefined ? undefined : { path: target.path };
      return { daemon, tracking, keys, folder, url: `ssh://${address}`, dial, keyPath: undefined };
    } catch (error) {
      await Promise.all([daemon.close(), tracking?.stop()]);
      removePrivateFolder(folder);
      throw error;
    }
  }

  #newTracking(host: string | undefined): FileTrackingServer {
    const { log = logToConsole } = this.#options;
    return new FileTrackingServer(this.root, {
      name: this.#trackingName,
      host,
      publishedRoot: this.guestPath,
      log,
    });
  }

  async #stop({ daemon, tracking, folder }: Serving): Promise<void> {
    await Promise.all([daemon.close(), tracking?.stop(), this.#place.stop()]);
    removePrivateFolder(folder);
    this.#resolveClosed(undefined);
  }
}

function bracket(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function logToConsole(message: string, error: unknown): void {
  console.error(`workspace: ${message}`, ...(error === undefined ? [] : [error]));
}
