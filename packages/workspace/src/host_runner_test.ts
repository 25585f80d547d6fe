import assert from "node:assert/strict";
import { realpath } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, test } from "vitest";
import { startWorkspace } from "./_testing.ts";
import type { TestWorkspace } from "./_testing.ts";

let box: TestWorkspace;
beforeAll(async () => {
  box = await startWorkspace({ isolation: "none" });
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
});

test("without isolation commands run in the directory itself, and the capability says so", async () => {
  const { params } = box.workspace.capability();
  assert.equal(params["isolation"], "none");
  assert.equal(params["cwd"], box.workspace.root);
  assert.equal(box.workspace.bwrapAvailable, false);
  await using client = await box.connect();
  const { stdout, exitCode } = await client.run("pwd -P; cat; exit 3", { input: "in" });
  assert.deepEqual([stdout, exitCode], [`${await realpath(box.workspace.root)}\nin`, 3]);
});

test("without isolation nothing of the serving process's environment leaks either", async () => {
  process.env["ENVPORT_TEST_SECRET"] = "secret";
  await using client = await box.connect();
  assert.equal((await client.run("echo ${ENVPORT_TEST_SECRET-unset}")).stdout, "unset\n");
});

test("without isolation files, SFTP, terminals and signals work", async () => {
  await box.workspace.writeFile("a/b", "content");
  await using client = await box.connect();
  assert.equal(await client.readFile("a/b", { encoding: "utf8" }), "content");
  assert.equal(await box.workspace.readFile("a/b", { encoding: "utf8" }), "content");
  await using terminal = await client.spawn("tty; stty size", { pty: { rows: 33, cols: 99 } });
  assert.match((await terminal.stdout.toArray()).join(""), /\/dev\/pts\/\d+\r\n33 99/);
  await using process = await client.spawn("exec sleep 100");
  await sleep(200);
  process.signal("SIGINT");
  assert.equal((await process.exit).signal, "SIGINT");
});

test("without isolation large output arrives whole, and a background process holds nothing open", async () => {
  await using client = await box.connect();
  assert.equal((await client.run("head -c 20000000 /dev/zero")).stdout.length, 20_000_000);
  const started = Date.now();
  assert.equal((await client.run("sleep 20 & echo started")).stdout, "started\n");
  assert.ok(Date.now() - started < 10_000);
});

test("without isolation stop() ends what runs", async () => {
  await using own = await startWorkspace({ isolation: "none" });
  const run = own.workspace.run("sleep 1000");
  await sleep(200);
  await own.workspace.stop();
  assert.equal((await run).signal, "SIGKILL");
});

test("without isolation a terminal is resized, also before its command runs, and tells its program", async () => {
  await using client = await box.connect();
  await using terminal = await client.spawn(
    "trap 'stty size' WINCH; stty size; while :; do sleep 0.02; done",
    {
      pty: { rows: 24, cols: 80 },
    },
  );
  terminal.resize({ rows: 30, cols: 100 });
  let said = "";
  terminal.stdout.on("data", (chunk: Buffer) => (said += String(chunk)));
  const until = async (line: string): Promise<void> => {
    for (let i = 0; i < 500 && !said.includes(line); i++) await sleep(10);
    assert.ok(said.includes(line), said);
  };
  await until("30 100\r\n");
  terminal.resize({ rows: 11, cols: 41 });
  terminal.resize({ rows: 10, cols: 40 });
  await until("10 40\r\n");
});
