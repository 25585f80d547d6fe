import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { SYSCALLS } from "./_syscall_numbers.ts";
import { builtCopy, mark, temporaryFolder } from "./_testing.ts";
import type { SandboxOptions } from "./sandbox_options.ts";

const PROBE = join(import.meta.dirname, "testdata", "escape_probe.pl");
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

/** Serves a sandbox from a process of its own, with secrets in its environment and open files, and runs the probe. */
async function probeFrom(uid: number | undefined, options: Partial<SandboxOptions>): Promise<string[]> {
  const root = temporaryFolder();
  if (isRoot) chownSync(root, uid ?? 0, uid ?? 0);
  copyFileSync(PROBE, join(root, "probe.pl"));
  const found = await bait();
  // A key of the same user on the host, in that user's keyring.
  const addKey = `my ($type, $name, $value) = ("user", "bait", "v"); syscall(${SYSCALLS[process.arch]!.numbers.add_key}, $type, $name, $value, 1, -4)`;
  execFileSync("perl", ["-e", addKey], isRoot ? { uid: NOBODY, gid: NOBODY } : {});
  const hidden = found.hidden === undefined ? [] : [dirname(String(found.hidden))];
  const source = `
    import { Sandbox } from ${JSON.stringify(await builtCopy())};
    const sandbox = new Sandbox(${JSON.stringify({ ...options, root, hidden })});
    const child = await sandbox.spawn({ argv: ["perl", "probe.pl", ...${JSON.stringify(wordsOf(found))}] });
    child.stderr.pipe(process.stderr);
    child.stdout.pipe(process.stdout);
    console.log("exit", await child.exit);
    await sandbox.stop();
  `;
  return lines(uid, [process.execPath, "--input-type=module", "-e", source], String(found.secret));
}

/** Runs a program with secrets in its environment and in descriptors that have no close-on-exec flag. */
async function lines(uid: number | undefined, argv: readonly string[], secret: string): Promise<string[]> {
  const child = spawn("bash", ["-c", 'exec 40<"$1" 251<"$1"; shift; exec "$@"', "bash", secret, ...argv], {
    ...(uid === undefined ? {} : { uid, gid: uid }),
    cwd: temporaryFolder(),
    env: { PATH: process.env.PATH, CONTROL_TOKEN: "secret", HUD_API_KEY: "secret" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return (await text(child.stdout)).trim().split("\n");
}

describe("from inside the sandbox", () => {
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
    async ({ who, uid, name, options }) => {
      const said = await probeFrom(uid, options);
      console.log([`served by ${who} with ${name} network:`, ...said].join("\n"));
      expect(said.filter((line) => line.startsWith("ALLOWED"))).toEqual([]);
      expect(said.filter((line) => line.startsWith("denied")).length).toBeGreaterThanOrEqual(170);
      expect(said.at(-1)).toContain("code: 0");
    },
  );
});

test("the probe finds its bait where there is no sandbox", async () => {
  const found = await bait();
  const said = await lines(
    isRoot ? NOBODY : undefined,
    ["perl", PROBE, ...wordsOf(found)],
    String(found.secret),
  );
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
