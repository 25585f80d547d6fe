/** Workspaces in folders of their own, and the stock OpenSSH client. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { SshClient } from "@envport/ssh";
import type { WorkspaceOptions } from "./workspace_options.ts";
import { Workspace } from "./workspace.ts";

/** A started workspace on a port of its own. */
export interface TestWorkspace extends AsyncDisposable {
  readonly workspace: Workspace;
  /** Holds the workspace's directory and whatever the test puts beside it. */
  readonly folder: string;
  /** A new connection by our own client. */
  connect(): Promise<SshClient>;
  /** Runs `ssh` with these arguments after the options that name the server; `host` is the word for the server. */
  ssh(args: readonly string[], options?: StockOptions): Promise<StockResult>;
  /** A configuration file for ssh, scp, sftp, rsync and git; the server's name in it is `box`. */
  readonly config: string;
}

/** Options of a stock program. */
export interface StockOptions {
  input?: string | Uint8Array;
  /** Milliseconds until it is killed. */
  timeout?: number;
}

/** How a stock program ended. */
export interface StockResult {
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

/** Starts a workspace in a new folder; the server listens on TCP, for the stock client's sake. */
export async function startWorkspace(options: WorkspaceOptions = {}): Promise<TestWorkspace> {
  const folder = await mkdtemp(join(tmpdir(), "envport-test-"));
  await chmod(folder, 0o755);
  const workspace = new Workspace(join(folder, "workspace"), { port: 0, hidden: [], ...options });
  await workspace.start();
  const config = join(folder, "ssh_config");
  await writeFile(join(folder, "known_hosts"), `box ${workspace.sshHostPubkey}\n`);
  const lines = [
    "Host box",
    "HostName 127.0.0.1",
    `Port ${new URL(workspace.sshUrl).port}`,
    `User ${workspace.sshUser}`,
    `IdentityFile ${workspace.sshClientKeyPath ?? "none"}`,
    "IdentitiesOnly yes",
    "HostKeyAlias box",
    `UserKnownHostsFile ${join(folder, "known_hosts")}`,
    "StrictHostKeyChecking yes",
    "BatchMode yes",
    "LogLevel ERROR",
    "",
  ];
  await writeFile(config, lines.join("\n"));
  return {
    workspace,
    folder,
    config,
    connect: () => SshClient.connect(workspace.capability()),
    ssh: (args, stock) => runProgram("ssh", ["-F", config, ...args], stock),
    [Symbol.asyncDispose]: async () => {
      await workspace.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs a program of this machine to its end. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { input, timeout = 15_000 }: StockOptions = {},
): Promise<StockResult> {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), timeout);
  child.stdin.on("error", () => undefined);
  child.stdin.end(input ?? "");
  const [stdout, stderr, [code]] = await Promise.all([
    buffer(child.stdout),
    text(child.stderr),
    once(child, "exit") as Promise<[number | null]>,
  ]);
  clearTimeout(timer);
  return { code, stdout, stderr };
}
