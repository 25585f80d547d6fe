/** A stock OpenSSH server on a loopback port: the independent peer that the client is tested against. */
import type { Capability } from "@envport/wire";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { generateSshKeyPair } from "./generate_ssh_key_pair.ts";
import { sshCapability } from "./ssh_capability.ts";

/** A running sshd. */
export interface TestServer extends AsyncDisposable {
  readonly capability: Capability;
  /** A folder of the test's own, removed with the server. */
  readonly folder: string;
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Starts sshd with keys and a configuration of its own, for the user that runs the test. */
export async function startSshd(): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "envport-sshd-"));
  const host = generateSshKeyPair();
  const client = generateSshKeyPair();
  const port = await freePort();
  const path = (name: string): string => join(folder, name);
  await writeFile(path("host"), host.private, { mode: 0o600 });
  await writeFile(path("authorized"), client.public, { mode: 0o600 });
  await writeFile(path("config"), config(port, path));
  if (process.getuid?.() === 0) await mkdir("/run/sshd", { recursive: true, mode: 0o755 });
  const sshd = spawn("/usr/sbin/sshd", ["-D", "-e", "-f", path("config")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  sshd.stderr.on("data", (chunk) => (log += String(chunk)));
  await listening(
    port,
    () => sshd.exitCode === null,
    () => log,
  );
  return {
    folder,
    capability: sshCapability({
      url: `127.0.0.1:${String(port)}`,
      user: userInfo().username,
      hostPubkey: host.public,
      clientKey: client.private,
    }),
    [Symbol.asyncDispose]: async () => {
      sshd.kill("SIGKILL");
      if (sshd.exitCode === null && sshd.signalCode === null) await once(sshd, "exit");
      await rm(folder, { recursive: true });
    },
  };
}

function config(port: number, path: (name: string) => string): string {
  return [
    `Port ${String(port)}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${path("host")}`,
    `AuthorizedKeysFile ${path("authorized")}`,
    "PidFile none",
    "StrictModes no",
    "UsePAM no",
    "PasswordAuthentication no",
    "PermitRootLogin prohibit-password",
    "MaxSessions 200",
    `SetEnv HOME=${path("")}`, // bash would read the user's own ~/.bashrc
    "Subsystem sftp internal-sftp",
    "",
  ].join("\n");
}

async function listening(port: number, alive: () => boolean, log: () => string): Promise<void> {
  for (let tries = 0; tries < 200 && alive(); tries++) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      socket.destroy();
      return;
    } catch {
      await sleep(25);
    }
  }
  throw new Error(`Cannot start sshd as it must listen on port ${String(port)}: ${log()}`);
}

/** A relay in front of a server whose connections can be cut. */
export async function startRelay(
  capability: Capability,
): Promise<AsyncDisposable & { capability: Capability; cut(): void }> {
  const sockets = new Set<Socket>();
  const target = Number(new URL(capability.url).port);
  const relay = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  const { port } = relay.address() as AddressInfo;
  const cut = (): void => sockets.forEach((socket) => socket.resetAndDestroy());
  return {
    capability: { ...capability, url: `ssh://127.0.0.1:${String(port)}` },
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      await new Promise((resolve) => relay.close(resolve));
    },
  };
}

/** Runs a program of this machine that must succeed. */
export async function runCommand(program: string, ...args: string[]): Promise<void> {
  const [code] = (await once(spawn(program, args, { stdio: "inherit" }), "exit")) as [number | null];
  if (code !== 0)
    throw new Error(`Cannot go on as ${program} must succeed: current value is ${String(code)}`);
}
