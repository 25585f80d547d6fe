import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SshClient } from "@envport/ssh";
import { startSshd } from "../../ssh/src/_testing.ts";
import { startWorkspace } from "../src/_testing.ts";
import { median, runBench } from "../../../scripts/bench_rows.ts";
import type { Row } from "../../../scripts/bench_rows.ts";

/** One of the two servers. */
interface Side {
  /** Words for ssh, scp and sftp that name a configuration with the server as `box`. */
  readonly config: string;
  readonly client: SshClient;
  /** A folder that the client side may use. */
  readonly local: string;
  /** A folder that the server side may use. */
  readonly remote: string;
}

const REFERENCE = "OpenSSH sshd without a sandbox";
const MIB = 1024 * 1024;

/**
 * A workspace beside OpenSSH's own server, both driven by the same clients: the stock ones for bulk and files, ours for
 * commands. Each round measures one and then the other; the median of the rounds counts.
 *
 * @param options With `quick`, less of everything.
 */
export async function run({ quick }: { quick: boolean }): Promise<Row[]> {
  const rounds = quick ? 3 : 7;
  const size = quick ? 128 : 512;
  const files = quick ? 300 : 1_000;
  if (!existsSync("/usr/sbin/sshd")) return [missing("every metric", "openssh-server is not installed")];
  await using ours = await workspaceSide();
  await using theirs = await sshdSide();
  for (const { local, client, remote } of [ours.side, theirs.side]) {
    await prepare(local, size, files);
    await client.run(["mkdir", join(remote, "small")]);
  }
  const measure = async (
    metric: string,
    unit: string,
    target: number,
    work: (side: Side) => Promise<number>,
  ): Promise<Row> => {
    const figures: [number[], number[]] = [[], []];
    for (let i = 0; i < rounds; i++) {
      figures[0].push(await work(ours.side));
      figures[1].push(await work(theirs.side));
    }
    const [mine, other] = [median(figures[0]), median(figures[1])];
    const ratio = mine / other;
    return {
      metric,
      unit,
      ours: mine,
      reference: REFERENCE,
      theirs: other,
      ratio,
      target,
      ok: ratio >= target,
    };
  };
  const stock =
    (...args: string[]) =>
    (side: Side): Promise<number> =>
      seconds(() => program("ssh", ["-F", side.config, ...args])).then((s) => size / s);
  const bytes = `head -c ${String(size * MIB)} /dev/zero`;
  return [
    await measure("commands one after another", "1/s", 0.8, (side) => sequential(side, quick ? 30 : 100)),
    await measure("100 commands at once", "1/s", 0.4, (side) => parallel(side, 100)),
    await measure("bulk stdout", "MB/s", 0.8, stock("box", bytes)),
    await measure(
      "bulk stdout, aes128-gcm",
      "MB/s",
      0.8,
      stock("-c", "aes128-gcm@openssh.com", "box", bytes),
    ),
    await measure("SFTP put", "MB/s", 1, (side) => transfer(side, ["put bulk bulk"], size)),
    await measure("SFTP get", "MB/s", 1, (side) => transfer(side, ["get bulk /dev/null"], size)),
    await measure("SFTP put, small files", "1/s", 0.7, (side) => transfer(side, ["put -r small"], files)),
    await measure("SFTP get, small files", "1/s", 0.7, (side) =>
      transfer(side, ["get -r small back"], files),
    ),
  ];
}

async function workspaceSide(): Promise<{ side: Side } & AsyncDisposable> {
  const box = await startWorkspace();
  const client = await box.connect();
  return {
    side: { config: box.config, client, local: join(box.folder, "local"), remote: "/workspace" },
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await box[Symbol.asyncDispose]();
    },
  };
}

async function sshdSide(): Promise<{ side: Side } & AsyncDisposable> {
  const server = await startSshd();
  const { url, params } = server.capability;
  const config = join(server.folder, "ssh_config");
  const key = join(server.folder, "client");
  await writeFile(key, String(params["client_key"]), { mode: 0o600 });
  await writeFile(join(server.folder, "known_hosts"), `box ${String(params["host_pubkey"])}\n`);
  await writeFile(
    config,
    `Host box\nHostName 127.0.0.1\nPort ${new URL(url).port}\nUser ${String(params["user"])}\nIdentityFile ${key}\n` +
      `IdentitiesOnly yes\nHostKeyAlias box\nUserKnownHostsFile ${join(server.folder, "known_hosts")}\nLogLevel ERROR\n`,
  );
  const client = await SshClient.connect(server.capability);
  return {
    side: { config, client, local: join(server.folder, "local"), remote: server.folder },
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function prepare(local: string, size: number, files: number): Promise<void> {
  await mkdir(join(local, "small"), { recursive: true });
  await program("bash", ["-c", `head -c ${String(size * MIB)} /dev/urandom > ${local}/bulk`]);
  const names = Array.from({ length: files }, (_, i) => join(local, "small", String(i)));
  await Promise.all(names.map((name) => writeFile(name, name)));
}

/** The workspace's server starts a login shell by itself; sshd is told to. */
const COMMAND = "true";

function line(side: Side, command: string): string | string[] {
  return side.config.includes("sshd") ? ["bash", "-lc", command] : command;
}

async function sequential(side: Side, count: number): Promise<number> {
  const time = await seconds(async () => {
    for (let i = 0; i < count; i++) await side.client.run(line(side, COMMAND));
  });
  return count / time;
}

async function parallel(side: Side, count: number): Promise<number> {
  const time = await seconds(async () => {
    const runs = Array.from({ length: count }, () => side.client.run(line(side, COMMAND)));
    const results = await Promise.all(runs);
    if (results.some(({ exitCode }) => exitCode !== 0)) throw new Error("A command failed");
  });
  return count / time;
}

/** One sftp session; what it takes to start is part of it for both. */
async function transfer(side: Side, commands: string[], amount: number): Promise<number> {
  await rm(join(side.local, "back"), { recursive: true, force: true });
  const batch = [`lcd ${side.local}`, `cd ${side.remote}`, ...commands, ""].join("\n");
  const time = await seconds(() => program("sftp", ["-q", "-F", side.config, "-b", "-", "box"], batch));
  return amount / time;
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}

function program(name: string, args: readonly string[], input = ""): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, { stdio: ["pipe", "ignore", "inherit"] });
    child.stdin.end(input);
    child.once("error", reject).once("exit", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${name} ended with ${String(code)}`));
    });
  });
}

function missing(metric: string, reason: string): Row {
  return {
    metric,
    unit: "",
    ours: null,
    reference: REFERENCE,
    theirs: null,
    ratio: null,
    target: 0,
    ok: null,
    reason,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runBench("ssh", run);
