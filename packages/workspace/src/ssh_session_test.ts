import assert from "node:assert/strict";
import { rm, symlink } from "node:fs/promises";
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

test("a hundred commands at once on one connection all return right", async () => {
  await using client = await box.connect();
  const results = await Promise.all(Array.from({ length: 100 }, (_, i) => client.run(`echo ${String(i)}`)));
  assert.deepEqual(
    results.map(({ stdout, exitCode }) => [stdout, exitCode]),
    Array.from({ length: 100 }, (_, i) => [`${String(i)}\n`, 0]),
  );
});

test("a signal reaches a command whose input has ended, and what it started", async () => {
  await using client = await box.connect();
  await using process = await client.spawn("sleep 1001 & wait");
  process.stdin.end();
  await sleep(300);
  process.signal("SIGTERM");
  assert.deepEqual(await process.exit, { code: null, signal: "SIGTERM" });
  await sleep(100);
  assert.equal((await box.workspace.run("pgrep -f 'sleep 100[1]'")).exitCode, 1);
});

test("output arrives as it is produced", async () => {
  await using client = await box.connect();
  await using process = await client.spawn("echo one; sleep 0.5; echo two >&2; sleep 30");
  const started = Date.now();
  assert.equal(String((await process.stdout[Symbol.asyncIterator]().next()).value), "one\n");
  assert.equal(String((await process.stderr[Symbol.asyncIterator]().next()).value), "two\n");
  assert.ok(Date.now() - started < 10_000);
});

test("a shell is a terminal: size, resize, interrupt, job control, exit code", async () => {
  await using client = await box.connect();
  await using shell = await client.shell({ rows: 30, cols: 100, env: { FOO: "bar" } });
  let seen = "";
  shell.stdout.on("data", (chunk) => (seen += String(chunk)));
  const until = async (text: RegExp): Promise<void> => {
    for (let i = 0; i < 200 && !text.test(seen); i++) await sleep(25);
    assert.match(seen, text);
    seen = "";
  };
  const type = (text: string): boolean => shell.stdin.write(text);
  type("stty size; tty; echo $TERM-$FOO\n");
  await until(/30 100[^]*\/dev\/pts\/\d[^]*xterm-256color-bar/);
  shell.resize({ rows: 40, cols: 120 });
  await sleep(300);
  type("stty size\n");
  await until(/40 120/);
  type("sleep 1000\n");
  await sleep(300);
  type("\x03");
  type("echo code=$?\n");
  await until(/code=130/);
  type("sleep 1000\n");
  await sleep(300);
  type("\x1a");
  await until(/Stopped/);
  type(`kill -9 %1; wait; echo all-ov""er\n`);
  await until(/all-over/);
  type("exit 7\n");
  assert.deepEqual(await shell.exit, { code: 7, signal: null });
});

test("the workspace's PATH holds in shells too", async () => {
  await using client = await box.connect();
  await using shell = await client.spawn("true", { pty: true });
  await shell.exit;
  await using own = await client.shell();
  own.stdin.write("type -p node; exit\n");
  const text = (await own.stdout.toArray()).join("");
  assert.match(text, /\/node/);
});

test("closing a terminal leaves nothing of it behind", async () => {
  const client = await box.connect();
  const shell = await client.shell();
  shell.stdin.write("sleep 1002\n");
  await sleep(500);
  await client.close();
  await sleep(2_800);
  assert.equal((await box.workspace.run("pgrep -f 'sleep 100[2]'")).exitCode, 1);
});

test("an agent that kills everything ends its sessions, and the next command has a fresh sandbox", async () => {
  await using client = await box.connect();
  await using other = await client.spawn("sleep 1000");
  await client.run("kill -9 -1");
  assert.equal((await other.exit).code, null);
  assert.equal((await client.run("echo back")).stdout, "back\n");
  assert.equal((await box.workspace.run("echo too")).stdout, "too\n");
});

test("a session that cannot start says so in one line that gives nothing away, and the log has the rest", async () => {
  const log: unknown[] = [];
  await using own = await startWorkspace({ log: (_, error) => log.push(error) });
  await using client = await own.connect();
  await client.run("kill -9 -1");
  await sleep(500);
  await rm(own.workspace.root, { recursive: true });
  await symlink("/missing", own.workspace.root);
  const { stdout, stderr, exitCode } = await client.run("echo ran");
  assert.deepEqual([stdout, exitCode], ["", 1]);
  assert.equal(stderr, "workspace: cannot start the session: the sandbox is not available\n");
  assert.match(String(log[0]), new RegExp(own.folder));
});
