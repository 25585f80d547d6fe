import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, test } from "vitest";
import { runProgram, startWorkspace } from "./_testing.ts";
import type { StockResult, TestWorkspace } from "./_testing.ts";

let box: TestWorkspace;
let local: string;
beforeAll(async () => {
  box = await startWorkspace();
  local = join(box.folder, "local");
  await mkdir(local);
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
});

const sha256 = (data: Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** Runs a program that must succeed. */
async function succeed(program: string, ...args: string[]): Promise<StockResult> {
  const result = await runProgram(program, args, { timeout: 60_000 });
  assert.equal(result.code, 0, `${program}: ${result.stderr}`);
  return result;
}

const sftp = (batch: string, timeout = 15_000): Promise<StockResult> =>
  runProgram("sftp", ["-F", box.config, "-b", "-", "box"], { input: batch, timeout });

test("sftp puts, gets, lists, renames, links and removes", async () => {
  const content = randomBytes(3_000_000);
  await writeFile(join(local, "up"), content);
  const { code, stdout, stderr } = await sftp(
    [
      "pwd",
      `put ${local}/up a`,
      "rename a b",
      "symlink b c",
      "mkdir d",
      "ls -l",
      `get c ${local}/down`,
      "rm b",
      "rm c",
      "rmdir d",
      "",
    ].join("\n"),
  );
  assert.equal(code, 0, stderr);
  assert.match(String(stdout), /Remote working directory: \/workspace/);
  assert.equal(sha256(await readFile(join(local, "down"))), sha256(content));
});

test("sftp sees what commands see, and nothing of the host", async () => {
  await writeFile(join(box.folder, "secret"), "secret");
  await box.workspace.run(`ln -s ${box.folder}/secret link; ln -s ../../../../../etc/hostname out`);
  const { stdout } = await sftp(`-get link ${local}/leak\n-get ${box.folder}/secret ${local}/leak\nls /\n`);
  await assert.rejects(readFile(join(local, "leak")), { code: "ENOENT" });
  const listing = (await box.workspace.run("ls /")).stdout.split("\n").filter(Boolean);
  for (const name of listing) assert.ok(String(stdout).includes(name), name);
  await box.workspace.run("rm link out");
});

test("scp copies both ways, by SFTP and by its old protocol", async () => {
  const content = randomBytes(1_000_000);
  await writeFile(join(local, "file"), content);
  for (const old of [[], ["-O"]]) {
    await succeed("scp", "-F", box.config, ...old, join(local, "file"), "box:copied");
    await succeed("scp", "-F", box.config, ...old, "box:copied", join(local, "back"));
    assert.equal(sha256(await readFile(join(local, "back"))), sha256(content));
  }
});

test("scp -r carries a tree of small files both ways", async () => {
  const tree = join(local, "tree");
  await mkdir(tree);
  const names = Array.from({ length: 200 }, (_, i) => `file-${String(i)}`);
  await Promise.all(names.map((name) => writeFile(join(tree, name), name)));
  await succeed("scp", "-r", "-F", box.config, tree, "box:");
  await succeed("scp", "-r", "-F", box.config, "box:tree", join(local, "tree-back"));
  assert.equal((await readdir(join(local, "tree-back"))).length, 200);
  assert.equal(await readFile(join(local, "tree-back", "file-77"), "utf8"), "file-77");
});

test("two thousand small files go through SFTP both ways as they are", { timeout: 120_000 }, async () => {
  const many = join(local, "many");
  await mkdir(many);
  const names = Array.from({ length: 2_000 }, (_, i) => `f${String(i)}`);
  for (const name of names) await writeFile(join(many, name), randomBytes(1 + (Number(name.slice(1)) % 700)));
  const batch = `put -r ${many}\nlcd ${local}\nget -r many many-back\n`;
  const { code, stderr } = await sftp(batch, 100_000);
  assert.equal(code, 0, stderr);
  await succeed("diff", "-r", many, join(local, "many-back"));
});

test("a file of one gibibyte goes through SFTP both ways as it is", { timeout: 300_000 }, async () => {
  const [big, back] = [join(local, "big"), join(local, "big-back")];
  // Random at the start of every MiB, holes in between: quick to make and to compare, and no two blocks alike.
  const file = await open(big, "w");
  for (let i = 0; i < 1_024; i++) await file.write(randomBytes(4_096), 0, 4_096, i * 1_048_576);
  await file.truncate(1_073_741_824);
  await file.close();
  const { code, stderr } = await sftp(`put ${big} big\nget big ${back}\n`, 280_000);
  assert.equal(code, 0, stderr);
  await succeed("cmp", big, back);
  await Promise.all([rm(big), rm(back), box.workspace.run("rm big")]);
});

test("rsync carries a tree both ways", async () => {
  const [from, back] = [join(local, "rs"), join(local, "rs-back")];
  await mkdir(join(from, "deep"), { recursive: true });
  await writeFile(join(from, "deep", "big"), randomBytes(2_000_000));
  await succeed("rsync", "-a", "-e", `ssh -F ${box.config}`, `${from}/`, "box:rs/");
  await succeed("rsync", "-a", "-e", `ssh -F ${box.config}`, "box:rs/", `${back}/`);
  assert.equal(
    sha256(await readFile(join(back, "deep", "big"))),
    sha256(await readFile(join(from, "deep", "big"))),
  );
});

test("git clones and pushes", async () => {
  const setUp = "git init -q -b main repo && cd repo && git config receive.denyCurrentBranch updateInstead";
  const commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m";
  assert.equal((await box.workspace.run(`${setUp} && ${commit} one`)).exitCode, 0);
  const clone = join(local, "clone");
  const git = ["-c", `core.sshCommand=ssh -F ${box.config}`];
  await succeed("git", ...git, "clone", "-q", "box:repo", clone);
  await succeed("bash", "-c", `cd ${clone} && ${commit} two`);
  await succeed("git", "-C", clone, ...git, "push", "-q", "origin", "main");
  assert.match((await box.workspace.run("git -C repo log --format=%s")).stdout, /^two\none\n$/);
});

/** Starts a server in the sandbox that answers each connection, after its end, with what it was sent. */
async function startEcho(port: number): Promise<void> {
  const script = `require("net").createServer({allowHalfOpen: true}, (s) => s.pipe(s)).listen(${String(port)}, "127.0.0.1", () => console.log("up"))`;
  const command = 'setsid node -e "$SCRIPT" > /tmp/echo & until grep -q up /tmp/echo; do sleep 0.05; done';
  const { exitCode } = await box.workspace.run(command, { env: { SCRIPT: script }, timeout: 10_000 });
  assert.equal(exitCode, 0);
}

test("ssh -L reaches a port of the sandbox's own loopback, also several times at once", async () => {
  await startEcho(7001);
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const args = ["-F", box.config, "-N", "-L", `127.0.0.1:${String(port)}:localhost:7001`, "box"];
  const forward = spawn("ssh", args, { stdio: ["ignore", "ignore", "inherit"] });
  try {
    const roundTrip = async (content: Buffer): Promise<void> => {
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      await once(socket, "connect");
      socket.end(content);
      assert.equal(sha256(await buffer(socket)), sha256(content));
    };
    for (let i = 0; i < 100; i++) {
      const socket = connect(port, "127.0.0.1");
      const open = await once(socket, "connect").then(
        () => true,
        () => false,
      );
      socket.destroy();
      if (open) break;
      await sleep(50);
    }
    await Promise.all(Array.from({ length: 8 }, () => roundTrip(randomBytes(500_000))));
  } finally {
    forward.kill();
  }
});

test("ssh -W passes half-closes on", async () => {
  await startEcho(7002);
  const content = randomBytes(300_000);
  const { code, stdout } = await box.ssh(["-W", "127.0.0.1:7002", "box"], { input: content });
  assert.equal(code, 0);
  assert.equal(sha256(stdout), sha256(content));
});

test("ports of the host, other addresses and closed ports are not reached", async () => {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  for (const target of [`127.0.0.1:${String(port)}`, "192.0.2.1:80", "127.0.0.1:9"]) {
    assert.notEqual((await box.ssh(["-W", target, "box"])).code, 0, target);
  }
  listener.close();
});
