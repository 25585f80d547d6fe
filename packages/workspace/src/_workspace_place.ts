import { DEFAULT_PATH, SERVICE_FOLDER, Sandbox, SandboxError, bwrapCommand } from "@envport/sandbox";
import type { SandboxCommand, SandboxOptions, SandboxProcess, SandboxReport } from "@envport/sandbox";
import { EnvportError } from "@envport/wire";
import type { AbortOptions } from "@envport/wire";
import { mkdirSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Duplex } from "node:stream";
import { hiddenPaths } from "./_hidden_paths.ts";
import { HostRunner } from "./_host_runner.ts";
import type { Runner } from "./_runner.ts";
import type { WorkspaceOptions } from "./workspace_options.ts";

/**
 * Where a workspace's commands run: the sandbox, made when it is first needed.
 */
export class WorkspacePlace implements Runner {
  /** The directory on this machine. */
  readonly root: string;
  /** Where commands start. */
  readonly cwd: string;
  /** Node inside. */
  readonly nodePath: string;
  /** What separates commands from this machine. */
  readonly isolation: "bwrap" | "none";
  /** `PATH` of commands. */
  readonly path: string;
  readonly #options: WorkspaceOptions;
  readonly #env: Readonly<Record<string, string>>;
  #runner: Runner | undefined;
  #stopping: Promise<void> | undefined;
  #stopped = false;

  /**
   * @param root The directory.
   * @param options Those of the workspace.
   */
  constructor(root: string, options: WorkspaceOptions) {
    const onLinux = process.platform === "linux";
    const { isolation = onLinux ? "required" : "none", guestPath = "/workspace" } = options;
    this.#options = options;
    this.root = resolve(root);
    this.isolation = isolation === "none" ? "none" : "bwrap";
    if (options.isolation === undefined && !onLinux) {
      process.emitWarning("Workspaces run without isolation, since bubblewrap is only on Linux");
    }
    const apart = this.isolation === "bwrap";
    this.cwd = apart ? guestPath : this.root;
    this.nodePath = apart ? `${SERVICE_FOLDER}/bin/node` : process.execPath;
    this.path =
      options.env?.["PATH"] ?? (apart ? DEFAULT_PATH : `${DEFAULT_PATH}:${dirname(process.execPath)}`);
    const user = options.user ?? "agent";
    const identity = { USER: user, LOGNAME: user, HOME: this.cwd, SHELL: "/bin/bash", LANG: "C.UTF-8" };
    this.#env = { ...identity, ...options.env, PATH: this.path };
  }

  /**
   * Starts the sandbox where none runs.
   *
   * @throws {EnvportError} `service-failed` With the reason and the remedy.
   */
  async start({ signal }: AbortOptions = {}): Promise<void> {
    this.#stopped = false;
    await this.#running(signal);
  }

  /** Runs a program. */
  async spawn(command: SandboxCommand, options: AbortOptions = {}): Promise<SandboxProcess> {
    const runner = await this.#running(options.signal);
    return await runner.spawn(command, options);
  }

  /** Connects to a port of the sandbox's own loopback. */
  async connect(port: number, options: AbortOptions = {}): Promise<Duplex> {
    const runner = await this.#running(options.signal);
    return await runner.connect(port, options);
  }

  /** Ends everything that runs; only `start` starts anew. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const runner = this.#runner;
    this.#runner = undefined;
    if (runner) this.#stopping = runner.stop();
    await this.#stopping;
  }

  /** The program and arguments of a process of the caller's own, in a sandbox of its own. */
  bwrapArgv(argv: readonly string[]): string[] {
    return this.isolation === "none" ? [...argv] : bwrapCommand(this.#sandboxOptions(), { argv });
  }

  /** What is in force in the sandbox; undefined where none runs. */
  get report(): SandboxReport | undefined {
    return this.#runner instanceof Sandbox ? this.#runner.report : undefined;
  }

  async #running(signal: AbortSignal | undefined): Promise<Runner> {
    await this.#stopping;
    if (this.#stopped)
      throw new EnvportError("closed", `Cannot use workspace '${this.root}' as it is stopped`);
    this.#runner ??= this.#make();
    const runner = this.#runner;
    try {
      await runner.start({ signal });
      return runner;
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      throw new EnvportError("service-failed", `Cannot start workspace '${this.root}': ${error.message}`, {
        cause: error,
      });
    }
  }

  #make(): Runner {
    if (this.isolation === "bwrap") return new Sandbox(this.#sandboxOptions());
    mkdirSync(this.root, { recursive: true });
    return new HostRunner(realpathSync(this.root), this.#env);
  }

  #sandboxOptions(): SandboxOptions {
    mkdirSync(this.root, { recursive: true });
    const { network = false, hidden = hiddenPaths() } = this.#options;
    const { mounts, systemMounts, limits, identity, allowedHosts, peers, bwrap } = this.#options;
    return {
      root: realpathSync(this.root),
      guestPath: this.cwd,
      env: this.#env,
      network: network === true ? "outbound" : network === false ? "none" : network,
      hidden,
      mounts,
      systemMounts,
      limits,
      identity,
      allowedHosts,
      peers,
      bwrap,
    };
  }
}
