import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, test } from "vitest";
import { startWorkspace } from "./_testing.ts";
import type { TestWorkspace } from "./_testing.ts";

let box: TestWorkspace;
beforeAll(async () => {
  box = await startWorkspace();
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
});

const sha256 = (data: Uint8Array): string => createHash("sha256").update(data).digest("hex");

test("ssh gets output, error output and exit status apart", async () => {
  const { code, stdout, stderr } = await box.ssh(["box", "echo out; echo err >&2; exit 5"]);
  assert.deepEqual([code, String(stdout), stderr], [5, "out\n", "err\n"]);
});

test("ssh sends input with its end", async () => {
  const input = randomBytes(5_000_000);
  const { stdout } = await box.ssh(["box", "sha256sum"], { input });
  assert.equal(String(stdout).split(" ")[0], sha256(input));
});

test("ssh hears of the signal that ended a command", async () => {
  const { code, stderr } = await box.ssh(["-v", "box", "kill -TERM $$"]);
  assert.equal(code, 255);
  assert.match(stderr, /exit-signal/);
});

test("a command that SSH has no signal name for ends with a status above 128", async () => {
  const { code } = await box.ssh(["box", "ulimit -c 0; kill -BUS $$"]);
  assert.equal(code, 135);
});

test("both outputs beyond the window arrive whole while the client reads slowly", async () => {
  const command =
    "head -c 17000000 /dev/zero | tr '\\0' o & head -c 17000000 /dev/zero | tr '\\0' e >&2; wait";
  const args = ["-F", box.config, "box", command];
  const client = spawn("ssh", args, { stdio: ["ignore", "pipe", "pipe"] });
  const sizes = { stdout: 0, stderr: 0 };
  await sleep(1_000); // both windows fill up
  client.stdout.on("data", (chunk: Buffer) => (sizes.stdout += chunk.length));
  await sleep(300);
  client.stderr.on("data", (chunk: Buffer) => (sizes.stderr += chunk.length));
  const [code] = (await once(client, "close")) as [number];
  assert.deepEqual([code, sizes], [0, { stdout: 17_000_000, stderr: 17_000_000 }]);
});

test("commands up to 128 KiB run", async () => {
  for (const size of [34_000, 36_000, 99_900, 100_100, 130_000, 131_000]) {
    const tail = `'; echo; printf %s tail`;
    const text = "é".repeat((size - 50) / 2);
    const { code, stdout } = await box.ssh(["box", `printf %s '${text}${tail}`]);
    assert.equal(code, 0);
    assert.equal(sha256(stdout), sha256(Buffer.from(`${text}\ntail`)), String(size));
  }
});

test("yes | head ends, and so does the command on the other side", async () => {
  const started = Date.now();
  const client = spawn("bash", [
    "-c",
    `ssh -F ${box.config} box "echo \\$\\$ > /tmp/yes; exec yes" | head -1`,
  ]);
  const [code] = (await once(client, "exit")) as [number];
  assert.equal(code, 0);
  assert.ok(Date.now() - started < 8_000);
  assert.notEqual((await box.workspace.run("sleep 0.2; kill -0 $(cat /tmp/yes)")).exitCode, 0);
});

test("commands one after another on one connection are not held up by Nagle's algorithm", async () => {
  await using client = await box.connect();
  const times: number[] = [];
  for (let i = 0; i < 15; i++) {
    const started = performance.now();
    await client.run("true");
    times.push(performance.now() - started);
  }
  assert.ok(Math.min(...times) < 40, `the fastest took ${String(Math.min(...times))} ms`);
});

test("a client that goes takes its command along, but not what was put in the background on purpose", async () => {
  const script = "setsid sleep 1001 >/dev/null 2>&1 & sleep 0.3; echo started; exec sleep 1002";
  const client = spawn("ssh", ["-F", box.config, "box", script], { stdio: ["pipe", "pipe", "inherit"] });
  await once(client.stdout, "data");
  client.kill("SIGKILL");
  await sleep(500);
  const { stdout } = await box.workspace.run("pgrep -a sleep || true");
  assert.match(stdout, /1001/);
  assert.doesNotMatch(stdout, /1002/);
  await box.workspace.run("pkill sleep");
});

test("a client that goes takes a command along that does not read its input", async () => {
  const client = spawn("ssh", ["-F", box.config, "box", "echo go; exec sleep 1003"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  client.stdin.on("error", () => undefined);
  client.stdin.write(Buffer.alloc(8_000_000));
  await once(client.stdout, "data");
  await sleep(300);
  client.kill("SIGKILL");
  await sleep(500);
  assert.equal((await box.workspace.run("pgrep -f 'sleep 100[3]'")).exitCode, 1);
});

test("what a command left in the background holds no session open, and goes on", async () => {
  const started = Date.now();
  const { code, stdout } = await box.ssh(["box", "(sleep 1; echo late; touch /tmp/late) & echo started"]);
  assert.deepEqual([code, String(stdout)], [0, "started\n"]);
  assert.ok(Date.now() - started < 1_000 + 5_000);
  await sleep(1_500);
  assert.equal((await box.workspace.run("test -e /tmp/late")).exitCode, 0);
});

test("SendEnv variables reach the command", async () => {
  const { stdout } = await box.ssh(["-o", "SetEnv FOO=bar", "box", "echo $FOO"]);
  assert.equal(String(stdout), "bar\n");
});

test("a shell without a terminal reads commands", async () => {
  const { code, stdout } = await box.ssh(["-T", "box"], { input: "echo one\nexit 4\n" });
  assert.deepEqual([code, String(stdout)], [4, "one\n"]);
});

test("/dev/stdout, /dev/stderr and /dev/stdin can be opened", async () => {
  const script = "cat /dev/stdin > /dev/stdout; echo err > /dev/stderr";
  const { code, stdout, stderr } = await box.ssh(["box", script], { input: "in" });
  assert.deepEqual([code, String(stdout), stderr], [0, "in", "err\n"]);
});

test("a rekey in the middle of a transfer loses nothing", async () => {
  const command = "head -c 30000000 /dev/zero";
  const { code, stdout } = await box.ssh(["-o", "RekeyLimit 2M", "box", command]);
  assert.deepEqual([code, stdout.length], [0, 30_000_000]);
  const input = Buffer.alloc(30_000_000, 7);
  const upload = await box.ssh(["-o", "RekeyLimit 2M", "box", "wc -c"], { input });
  assert.equal(String(upload.stdout).trim(), "30000000");
});

test("another key, another user and passwords are refused", async () => {
  assert.equal((await box.ssh(["-l", "root", "box", "true"])).code, 255);
  const args = ["-o", "PreferredAuthentications=password,keyboard-interactive", "box", "true"];
  assert.equal((await box.ssh(args)).code, 255);
});

test("forwarding to the client's side, agents and X11 are refused", async () => {
  const remote = await box.ssh(["-o", "ExitOnForwardFailure yes", "-R", "0:127.0.0.1:1", "box", "true"]);
  assert.notEqual(remote.code, 0);
  const { stdout } = await box.ssh(["-A", "-X", "box", "echo ${SSH_AUTH_SOCK-none} ${DISPLAY-none}"]);
  assert.equal(String(stdout), "none none\n");
});

test("legacy algorithms are refused", async () => {
  const connects = async (...args: string[]): Promise<boolean> =>
    (await box.ssh([...args, "box", "true"])).code === 0;
  assert.equal(await connects("-o", "Ciphers=aes128-cbc"), false);
  assert.equal(await connects("-o", "KexAlgorithms=diffie-hellman-group1-sha1"), false);
  assert.equal(await connects("-o", "Ciphers=aes128-ctr", "-o", "MACs=hmac-sha1"), false);
  assert.equal(await connects("-o", "Ciphers=aes128-ctr", "-o", "MACs=hmac-sha2-256-etm@openssh.com"), true);
});

test("chacha20, CTR and GCM ciphers all work", async () => {
  for (const cipher of ["chacha20-poly1305@openssh.com", "aes128-ctr", "aes256-gcm@openssh.com"]) {
    const { code, stdout } = await box.ssh(["-c", cipher, "box", "head -c 3000000 /dev/zero"]);
    assert.deepEqual([code, stdout.length], [0, 3_000_000], cipher);
  }
});
