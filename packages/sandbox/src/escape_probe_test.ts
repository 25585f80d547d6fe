import { execFileSync, spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SYSCALLS } from "./_syscall_numbers.ts";
import { builtPackages, mark, temporaryFolder } from "./_testing.ts";
import type { SandboxOptions } from "./sandbox_options.ts";

const PROBE = join(import.meta.dirname, "testdata", "escape_probe.pl");
const REPOSITORY = resolve(import.meta.dirname, "../../..");
const NOBODY = 65534;
const isRoot = process.getuid!() === 0;

/** Calls that the filter lets through and the probe needs; each processor's own numbers. */
const FURTHER: Record<string, Record<string, number>> = {
  x64: {
    mknodat: 259,
    sethostname: 170,
    setdomainname: 171,
    setuid: 105,
    setgid: 106,
    setgroups: 116,
    sched_setscheduler: 144,
    prlimit64: 302,
    shmctl: 31,
    ptrace: 101,
    x32: 0x40000027,
  },
  arm64: {
    mknodat: 33,
    sethostname: 161,
    setdomainname: 162,
    setuid: 146,
    setgid: 144,
    setgroups: 159,
    sched_setscheduler: 119,
    prlimit64: 261,
    shmctl: 195,
    ptrace: 117,
  },
};

async function listening(server: Server, where: object | string): Promise<Server> {
  server.listen(where);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return server;
}

/** Sets up on the host what there is to find, and says where. */
async function bait(): Promise<Record<string, string | number>> {
  const folder = temporaryFolder();
  const secret = join(folder, "secret");
  writeFileSync(secret, "SECRET-OF-THE-HOST\n", { mode: 0o644 });
  const accept = () => createServer((socket) => void socket.on("error", () => {}).end("hello"));
  const control = await listening(accept(), { host: "127.0.0.1", port: 0 });
  const control6 = await listening(accept(), { host: "::1", port: 0 });
  const abstract = `sandbox-test-${process.pid}-${mark()}`;
  await listening(accept(), `\0${abstract}`);
  await listening(accept(), { path: join(folder, "socket"), writableAll: true, readableAll: true });
  const name = mark();
  const sleeper = spawn("sleep", [name], { stdio: "ignore" });
  onTestFinished(() => void sleeper.kill());
  const shm = `sandbox-test-${name}`;
  writeFileSync(join("/dev/shm", shm), "x", { mode: 0o644 });
  onTestFinished(() => rmSync(join("/dev/shm", shm)));
  const [ipc] = /\d+/.exec(execFileSync("ipcmk", ["-M", "4096", "-p", "0666"], { encoding: "utf8" }))!;
  onTestFinished(() => void execFileSync("ipcrm", ["-m", ipc]));
  return {
    secret,
    port: (control.address() as AddressInfo).port,
    port6: (control6.address() as AddressInfo).port,
    abstract,
    socket: join(folder, "socket"),
    mark: name,
    shm,
    ipc,
    ...(isRoot && { hidden: hiddenFile() }),
  };
}

/** The environment's source below a system directory. */
function hiddenFile(): string {
  const folder = `/usr/src/sandbox-probe-${process.pid}`;
  mkdirSync(folder, { recursive: true });
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "env.ts"), "the answer");
  return join(folder, "env.ts");
}

function wordsOf(found: Record<string, string | number>): string[] {
  const numbers = { ...SYSCALLS[process.arch]!.numbers, ...FURTHER[process.arch]! };
  return Object.entries({ ...prefixed(numbers), ...found }).map(([name, value]) => `${name}=${value}`);
}

const prefixed = (numbers: Record<string, number>) =>
  Object.fromEntries(Object.entries(numbers).map(([name, number]) => [`sys_${name}`, number]));

/** Runs the probe in a session of the stock client, in a workspace that a process of its own serves. */
async function probeSession(uid: number | undefined, options: Partial<SandboxOptions>): Promise<string[]> {
  const root = temporaryFolder();
  if (isRoot) chownSync(root, uid ?? 0, uid ?? 0);
  copyFileSync(PROBE, join(root, "probe.pl"));
  const found = await bait();
  // A key of the same user on the host, in that user's keyring.
  const addKey = `my ($type, $name, $value) = ("user", "bait", "v"); syscall(${SYSCALLS[process.arch]!.numbers.add_key}, $type, $name, $value, 1, -4)`;
  execFileSync("perl", ["-e", addKey], isRoot ? { uid: NOBODY, gid: NOBODY } : {});
  const hidden = found.hidden === undefined ? [] : [dirname(String(found.hidden))];
  const source = `
    import { Workspace } from "@envport/workspace";
    const workspace = new Workspace(${JSON.stringify(root)}, ${JSON.stringify({ ...options, hidden, port: 0 })});
    await workspace.start();
    console.log([workspace.sshUrl, workspace.sshClientKeyPath, workspace.sshHostPubkey].join("\\n"));
  `;
  const words = [process.execPath, "--input-type=module", "-e", source];
  const server = withSecrets(String(found.secret), asUser(uid, words));
  onTestFinished(() => void server.kill());
  const said = createInterface(server.stdout)[Symbol.asyncIterator]();
  const [url, key, hostKey] = [await said.next(), await said.next(), await said.next()].map(
    ({ value }) => value,
  );
  return session(new URL(url), key, hostKey, ["exec", "perl", "probe.pl", ...wordsOf(found)]);
}

/** The lines that a command says by the stock client, and its exit code. */
async function session(
  { hostname, port }: URL,
  key: string,
  hostKey: string,
  command: readonly string[],
): Promise<string[]> {
  const known = join(temporaryFolder(), "known_hosts");
  writeFileSync(known, `box ${hostKey}\n`);
  const options = { HostKeyAlias: "box", UserKnownHostsFile: known, IdentitiesOnly: "yes", BatchMode: "yes" };
  const words = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const quoted = command
    .map((word) => `'${word}'`)
    .join(" ")
    .replace("'exec'", "exec");
  const ssh = ["-F", "none", "-p", port, "-i", key, ...words, `agent@${hostname}`, quoted];
  const child = spawn("ssh", ssh, { stdio: ["ignore", "pipe", "inherit"] });
  const [said, [code]] = await Promise.all([linesOf(child), once(child, "exit")]);
  return [...said, `exit code ${code}`];
}

/** Where the workspace is installed for everybody. */
let installed: string;
beforeAll(async () => {
  installed = mkdtempSync(join(tmpdir(), "sandbox-test-"));
  chmodSync(installed, 0o755);
  await builtPackages(["wire", "sandbox", "ssh", "filetracking", "workspace"], installed);
  const repository = join(installed, "repository");
  const foreign = { workspace: ["ssh2"], filetracking: ["diff", "ignore"] };
  for (const [name, packages] of Object.entries(foreign)) {
    for (const one of packages) {
      const path = join(repository, "packages", name, "node_modules", one);
      symlinkSync(path, join(installed, "node_modules", one));
    }
  }
  if (isRoot) mkdirSync(repository);
  else symlinkSync(REPOSITORY, repository);
}, 60_000);
afterAll(() => rmSync(installed, { recursive: true }));

/**
 * Words that run a program as a user, where the workspace is installed. Packages of others are this repository's, which
 * root shows to that program alone where everybody may go.
 */
function asUser(uid: number | undefined, words: readonly string[]): readonly string[] {
  const show = isRoot ? ["unshare", "--mount"] : [];
  const enter = `${isRoot ? 'mount --bind "$1" "$2/repository"; ' : ""}cd "$2"; shift 2; exec "$@"`;
  const drop =
    uid === undefined ? [] : ["setpriv", "--reuid", String(uid), "--regid", String(uid), "--clear-groups"];
  return [...show, "bash", "-c", enter, "bash", REPOSITORY, installed, ...drop, ...words];
}

/** Starts a program with secrets in its environment and in descriptors that have no close-on-exec flag. */
function withSecrets(
  secret: string,
  argv: readonly string[],
  uid?: number,
): ChildProcessByStdio<null, Readable, null> {
  return spawn("bash", ["-c", 'exec 40<"$1" 251<"$1"; shift; exec "$@"', "bash", secret, ...argv], {
    ...(uid === undefined ? {} : { uid, gid: uid }),
    cwd: temporaryFolder(),
    env: { PATH: process.env.PATH, CONTROL_TOKEN: "secret", HUD_API_KEY: "secret" },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function linesOf(child: ChildProcessByStdio<null, Readable, null>): Promise<string[]> {
  return (await text(child.stdout)).trim().split("\n");
}

describe("from inside a session", () => {
  const servers = [
    ...(isRoot ? [{ who: "root", uid: undefined }] : []),
    { who: "an ordinary user", uid: isRoot ? NOBODY : undefined },
  ];
  const networks: { name: string; options: Partial<SandboxOptions> }[] = [
    { name: "no", options: {} },
    { name: "an allow-list", options: { allowedHosts: ["example.com"] } },
    {
      name: "a peers",
      options: { peers: [{ name: "db", port: 5432, target: { path: "/no/such/socket" } }] },
    },
  ];
  test.each(networks.flatMap((network) => servers.map((server) => ({ ...server, ...network }))))(
    "served by $who with $name network, nothing of the host can be had",
    { timeout: 60_000 },
    async ({ who, uid, name, options }) => {
      const said = await probeSession(uid, options);
      console.log([`served by ${who} with ${name} network:`, ...said].join("\n"));
      expect(said.filter((line) => line.startsWith("ALLOWED"))).toEqual([]);
      expect(said.filter((line) => line.startsWith("denied")).length).toBeGreaterThanOrEqual(170);
      expect(said.at(-1)).toBe("exit code 0");
    },
  );
});

test("the probe finds its bait where there is no sandbox", async () => {
  const found = await bait();
  const probe = ["perl", PROBE, ...wordsOf(found)];
  const said = await linesOf(withSecrets(String(found.secret), probe, isRoot ? NOBODY : undefined));
  expect(said).toEqual(
    expect.arrayContaining([
      "ALLOWED read a secret in the host's /tmp",
      "ALLOWED read it through an inherited descriptor",
      ...(isRoot ? ["ALLOWED read a hidden path"] : []),
      "ALLOWED see the host's /dev/shm",
      "ALLOWED see a process of the host",
      "ALLOWED read the server's environment",
      "ALLOWED connect to the control port",
      "ALLOWED connect to it by IPv6",
      "ALLOWED connect to an abstract socket",
      "ALLOWED connect to a socket file",
      "ALLOWED see the host's sockets",
      "ALLOWED find shared memory of the host",
      "ALLOWED run without a filter in process self",
      "ALLOWED clone3",
      "ALLOWED list /sys",
    ]),
  );
});
