import { EnvportError } from "@envport/wire";
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import ssh2 from "ssh2";
import { afterAll, beforeAll, test } from "vitest";
import { startRelay, startSshd } from "./_testing.ts";
import type { TestServer } from "./_testing.ts";
import { generateSshKeyPair } from "./generate_ssh_key_pair.ts";
import { SshClient } from "./ssh_client.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startSshd();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const rejectsWith = (promise: Promise<unknown>, code: string): Promise<void> =>
  assert.rejects(promise, (error) => error instanceof EnvportError && error.code === code);

test("run() tells output, error output and exit code apart", async () => {
  await using client = await SshClient.connect(server.capability);
  assert.deepEqual(await client.run("echo out; echo err >&2; exit 3"), {
    stdout: "out\n",
    stderr: "err\n",
    exitCode: 3,
    signal: null,
    timedOut: false,
    truncated: false,
  });
});

test("run() passes an argument list on as it is", async () => {
  await using client = await SshClient.connect(server.capability);
  const odd = ["a b", "it's", "$HOME", "*", "", "line\nbreak", "é", "-n", "\\", '"'];
  const { stdout } = await client.run(["printf", "%s\\0", ...odd]);
  assert.deepEqual(stdout.split("\0").slice(0, -1), odd);
});

test("run() runs a program that is named like a keyword or an assignment", async () => {
  await using client = await SshClient.connect(server.capability);
  assert.equal((await client.run(["time"])).exitCode === 0, false);
  assert.equal((await client.run(["A=1"])).exitCode, 127);
});

test("run() sets folder and variables, also those that the server's configuration does not name", async () => {
  await using client = await SshClient.connect(server.capability);
  const { stdout } = await client.run('pwd; echo "$FOO"', { cwd: "/usr", env: { FOO: "it's\n2" } });
  assert.equal(stdout, "/usr\nit's\n2\n");
});

test("run() fails where the folder is missing, without running the command", async () => {
  await using client = await SshClient.connect(server.capability);
  const result = await client.run("echo ran", { cwd: "/missing" });
  assert.equal(result.stdout, "");
  assert.notEqual(result.exitCode, 0);
});

test("run() refuses a variable whose name is none", async () => {
  await using client = await SshClient.connect(server.capability);
  await assert.rejects(client.run("true", { env: { "A;B": "1" } }), TypeError);
});

test("run() gives the command its input and then end of file", async () => {
  await using client = await SshClient.connect(server.capability);
  const input = Buffer.alloc(3_000_000, "abc\n");
  const { stdout } = await client.run("wc -c", { input });
  assert.equal(stdout.trim(), "3000000");
  assert.equal((await client.run("cat")).stdout, "");
});

test("run() runs commands of 128 KiB, input included", async () => {
  await using client = await SshClient.connect(server.capability);
  const text = "x".repeat(131_072);
  const { stdout } = await client.run(`printf %s '${text}'; cat`, { input: "tail" });
  assert.equal(stdout, `${text}tail`);
});

test("run() keeps the output of a command that timed out", async () => {
  await using client = await SshClient.connect(server.capability);
  const result = await client.run("echo early; exec sleep 30", { timeout: 300 });
  assert.equal(result.stdout, "early\n");
  assert.equal(result.timedOut, true);
  assert.equal(result.exitCode, null);
});

test("run() never lets a command that timed out look like a success", async () => {
  await using client = await SshClient.connect(server.capability);
  const result = await client.run("trap 'exit 0' TERM; for i in {1..200}; do sleep 0.05; done", {
    timeout: 300,
  });
  assert.equal(result.timedOut, true);
  assert.equal(result.exitCode, null);
});

test("run() says so when output passes maxOutput, and ends the command", async () => {
  await using client = await SshClient.connect(server.capability);
  const result = await client.run("yes", { maxOutput: 100_000 });
  assert.equal(result.stdout.length, 100_000);
  assert.equal(result.truncated, true);
  assert.equal(result.exitCode, null);
});

test("run() reports the signal that ended a command", async () => {
  await using client = await SshClient.connect(server.capability);
  const result = await client.run("kill -TERM $$");
  assert.equal(result.signal, "SIGTERM");
  assert.equal(result.exitCode, null);
});

test("run() rejects with the signal's reason when it is given up", async () => {
  await using client = await SshClient.connect(server.capability);
  const reason = new Error("enough");
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 100);
  await assert.rejects(client.run("sleep 30", { signal: controller.signal }), reason);
  await assert.rejects(client.run("true", { signal: controller.signal }), reason);
});

test("a hundred commands at once on one connection all return right", async () => {
  await using client = await SshClient.connect(server.capability);
  const results = await Promise.all(Array.from({ length: 100 }, (_, i) => client.run(`echo ${String(i)}`)));
  assert.deepEqual(
    results.map(({ stdout }) => Number(stdout)),
    Array.from({ length: 100 }, (_, i) => i),
  );
});

test("spawn() streams output as it is written and input as it is sent", async () => {
  await using client = await SshClient.connect(server.capability);
  await using process = await client.spawn("while read -r line; do echo got $line; done; exit 5");
  process.stdin.write("one\n");
  const output = process.stdout[Symbol.asyncIterator]();
  assert.equal(String((await output.next()).value), "got one\n");
  process.stdin.end("two\n");
  assert.equal(String((await output.next()).value), "got two\n");
  assert.deepEqual(await process.exit, { code: 5, signal: null });
});

test("kill() ends a process also where the server does not pass signals on", async () => {
  await using client = await SshClient.connect(server.capability);
  const process = await client.spawn("exec sleep 30");
  process.kill();
  assert.equal((await process.exit).code, null);
});

test("shell() is a terminal that can be resized", async () => {
  await using client = await SshClient.connect(server.capability);
  await using shell = await client.shell({ rows: 30, cols: 100 });
  let seen = "";
  shell.stdout.on("data", (chunk) => (seen += String(chunk)));
  const until = async (text: string): Promise<void> => {
    for (let i = 0; i < 100 && !seen.includes(text); i++) await sleep(50);
    assert.ok(seen.includes(text), seen);
  };
  shell.stdin.write("stty size\n");
  await until("30 100");
  shell.resize({ rows: 40, cols: 120 });
  shell.stdin.write("stty size\n");
  await until("40 120");
  shell.stdin.write("exit 7\n");
  assert.deepEqual(await shell.exit, { code: 7, signal: null });
});

test("a server with another key is refused before anything is sent", async () => {
  const { public: other } = generateSshKeyPair();
  const capability = { ...server.capability, params: { ...server.capability.params, host_pubkey: other } };
  await rejectsWith(SshClient.connect(capability), "host-key-mismatch");
});

test("a server without a key of the binding's type is refused", async () => {
  const { public: other } = ssh2.utils.generateKeyPairSync("ecdsa", { bits: 256 });
  const capability = { ...server.capability, params: { ...server.capability.params, host_pubkey: other } };
  await rejectsWith(SshClient.connect(capability), "host-key-mismatch");
});

test("a binding without a server key is refused", async () => {
  const capability = { ...server.capability, params: { user: "agent" } };
  await rejectsWith(SshClient.connect(capability), "invalid-value");
});

test("a key that the server does not know fails the login", async () => {
  const { private: other } = generateSshKeyPair();
  const capability = { ...server.capability, params: { ...server.capability.params, client_key: other } };
  await rejectsWith(SshClient.connect(capability), "authentication-failed");
});

test("a key that cannot be parsed fails the login", async () => {
  const capability = { ...server.capability, params: { ...server.capability.params, client_key: "no key" } };
  await rejectsWith(SshClient.connect(capability), "authentication-failed");
});

test("a command under way when the connection breaks fails, and the next one runs on a new connection", async () => {
  await using relay = await startRelay(server.capability);
  await using client = await SshClient.connect(relay.capability);
  const marker = `${server.folder}/ran`;
  const lost = client.run(`echo x >> ${marker}; sleep 30`);
  await sleep(300);
  relay.cut();
  await rejectsWith(lost, "connection-lost");
  assert.equal((await client.run(`cat ${marker}`)).stdout, "x\n");
});

test("a stream that the connection's loss cut short fails instead of ending", async () => {
  await using relay = await startRelay(server.capability);
  await using client = await SshClient.connect(relay.capability);
  await using process = await client.spawn("echo begun; sleep 30");
  setTimeout(() => relay.cut(), 300);
  await rejectsWith(process.stdout.toArray(), "connection-lost");
  await rejectsWith(process.exit, "connection-lost");
});

test("after close() a command is refused, and close() again does nothing", async () => {
  const client = await SshClient.connect(server.capability);
  await client.close();
  await client.close();
  await rejectsWith(client.run("true"), "closed");
  assert.throws(() => client.conn, EnvportError);
});

test("conn is the connection of the ssh2 package", async () => {
  await using client = await SshClient.connect(server.capability);
  assert.ok(client.conn instanceof ssh2.Client);
});

test("nothing that listens is reported as a lost connection", async () => {
  const capability = { ...server.capability, url: "ssh://127.0.0.1:1" };
  await rejectsWith(SshClient.connect(capability), "connection-lost");
});
