import { FileError } from "@envport/ssh";
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { startWorkspace } from "./_testing.ts";
import type { TestWorkspace } from "./_testing.ts";
import type { Workspace } from "./workspace.ts";

let box: TestWorkspace;
let workspace: Workspace;
beforeAll(async () => {
  box = await startWorkspace();
  ({ workspace } = box);
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
});

/** Lets the agent do something first. */
async function agent(script: string): Promise<void> {
  await using client = await box.connect();
  const { exitCode, stderr } = await client.run(script);
  assert.equal(exitCode, 0, stderr);
}

/** Every refusal comes quickly, whatever was planted. */
async function refuses(act: () => Promise<unknown>, ...codes: string[]): Promise<void> {
  const started = Date.now();
  await assert.rejects(act, (error) => {
    assert.ok(error instanceof FileError, String(error));
    assert.ok(codes.includes(error.code), error.code);
    return true;
  });
  assert.ok(Date.now() - started < 5_000);
}

test("readFile() returns what an agent wrote, and writeFile() what an agent can change", async () => {
  const content = randomBytes(3_000_000);
  await workspace.writeFile("data/deep/file", content);
  assert.ok((await workspace.readFile("data/deep/file")).equals(content));
  assert.ok((await workspace.readFile("/workspace/data/deep/file")).equals(content));
  await agent("echo changed > data/deep/file; echo own > 'it is my file'");
  assert.equal(await workspace.readFile("data/deep/file", { encoding: "utf8" }), "changed\n");
  assert.equal(await workspace.readFile("it is my file", { encoding: "utf8" }), "own\n");
});

test("writeFile() replaces a longer file, keeps empty ones, and sets the mode of new ones", async () => {
  await workspace.writeFile("f", "a long first version");
  await workspace.writeFile("f", "");
  assert.equal((await workspace.readFile("f")).length, 0);
  await workspace.writeFile("run.sh", "#!/bin/sh\necho ran\n", { mode: 0o755 });
  assert.equal((await workspace.run(["./run.sh"])).stdout, "ran\n");
});

test("names that look like options or have odd characters are names", async () => {
  for (const name of ["-n", "--help", "a b", "é", "new\nline", "'", "$HOME"]) {
    await workspace.writeFile(name, name);
    assert.equal(await workspace.readFile(name, { encoding: "utf8" }), name);
  }
});

test("links lead nowhere: absolute, relative, chained, behind a folder, dangling, to themselves", async () => {
  await writeFile(join(box.folder, "secret"), "secret");
  await agent(`mkdir -p links && cd links && echo real > real
    ln -s /etc/passwd absolute; ln -s ../../etc/passwd relative; ln -s absolute chain
    ln -s /etc folder; ln -s ${box.folder}/secret dangling; ln -s loop loop; ln -s real inside`);
  for (const name of ["absolute", "relative", "chain", "folder/passwd", "dangling", "loop", "inside"]) {
    await refuses(() => workspace.readFile(`links/${name}`), "ELOOP");
    await refuses(() => workspace.writeFile(`links/${name}`, "x"), "ELOOP", "EACCES");
  }
  await refuses(() => workspace.readFile("/proc/self/root/etc/passwd"), "ELOOP");
  await refuses(() => workspace.readFile("/proc/self/exe"), "ELOOP");
  assert.equal((await workspace.stat("links/absolute")).type, "symlink");
});

test("pipes, sockets, devices and folders are refused at once", async () => {
  await agent(`mkfifo pipe
    node -e 'require("net").createServer().listen("socket", () => process.exit())'; mkdir -p dir`);
  await refuses(() => workspace.readFile("pipe"), "ENOTFILE");
  await refuses(() => workspace.writeFile("pipe", "x"), "ENOTFILE");
  await refuses(() => workspace.readFile("dir"), "EISDIR");
  await refuses(() => workspace.writeFile("dir", "x"), "EISDIR");
  await refuses(() => workspace.readFile("/dev/zero"), "ENOTFILE");
  await refuses(() => workspace.readFile("/dev/tty"), "ENOTFILE");
  await refuses(() => workspace.writeFile("/dev/null", "x"), "ENOTFILE");
  assert.equal((await workspace.stat("pipe")).type, "other");
  await refuses(() => workspace.stat("missing"), "ENOENT");
  await refuses(() => workspace.readFile("missing"), "ENOENT");
});

test("a pipe that is read by the agent is refused as well", async () => {
  await agent(
    "mkfifo read; setsid cat read >/dev/null 2>&1 & setsid sh -c 'while :; do echo x; done > read' & sleep 0.2",
  );
  await refuses(() => workspace.writeFile("read", "x"), "ENOTFILE");
  await refuses(() => workspace.readFile("read"), "ENOTFILE");
  await workspace.run("pkill cat; pkill -f 'while :'; true");
});

test("no file fills memory: sparse, growing, and files without a size", async () => {
  await agent("truncate -s 10G sparse; head -c 2000000 /dev/zero > two");
  await refuses(() => workspace.readFile("sparse"), "EFBIG");
  await refuses(() => workspace.readFile("two", { maxBytes: 1_999_999 }), "EFBIG");
  assert.equal((await workspace.readFile("two", { maxBytes: 2_000_000 })).length, 2_000_000);
  await refuses(() => workspace.readFile("/proc/self/maps", { maxBytes: 100 }), "EFBIG", "ELOOP");
});

test("what the agent may not read or write is refused", async () => {
  await agent("echo x > locked; chmod 0 locked");
  await refuses(() => workspace.readFile("locked"), "EACCES");
  await refuses(() => workspace.writeFile("locked", "x"), "EACCES");
  await refuses(() => workspace.writeFile("/etc/passwd", "x"), "EACCES");
  await refuses(() => workspace.writeFile("/usr/planted", "x"), "EACCES");
});

test("a file that the agent keeps swapping for a link is never read through it", async () => {
  await agent(`mkdir -p swap && cd swap && echo real > real && cp real file && ln -s /etc/passwd link
    setsid bash -c 'while :; do cp -P link tmp; mv -T tmp file; cp real tmp; mv -T tmp file; done' >/dev/null 2>&1 &`);
  for (let i = 0; i < 40; i++) {
    const read = workspace.readFile("swap/file", { encoding: "utf8" });
    const content = await read.catch((error: unknown) => (error as FileError).code);
    assert.ok(["real\n", "ELOOP", "ENOENT", ""].includes(content), content);
  }
  await workspace.run("pkill -f 'cp -P link'; true");
});

test("a helper that the agent keeps killing gives a typed error or the whole content", async () => {
  await agent("head -c 20000000 /dev/zero > big");
  await agent("setsid bash -c 'while :; do pkill -9 -f O_NOFOLLO[W]; done' >/dev/null 2>&1 &");
  for (let i = 0; i < 15; i++) {
    const content: unknown = await workspace.readFile("big").catch((error: unknown) => error);
    if (content instanceof FileError) assert.equal(content.code, "EIO");
    else assert.equal((content as Buffer).length, 20_000_000);
  }
  // Its last pkill may still be on its way.
  await workspace.run("pkill -f 'while :'; while pgrep -x pkill; do sleep 0.05; done; true");
  assert.equal((await workspace.readFile("big")).length, 20_000_000);
});

test("a helper that the agent stops is given up after a while", { timeout: 60_000 }, async () => {
  await workspace.writeFile("f", "content");
  await agent("pkill -STOP -f O_NOFOLLO[W]");
  await assert.rejects(workspace.readFile("f"), { code: "ETIMEDOUT" });
  assert.equal(await workspace.readFile("f", { encoding: "utf8" }), "content");
});

test("many calls at once all return right", async () => {
  const names = Array.from({ length: 200 }, (_, i) => `many/${String(i)}`);
  await Promise.all(names.map((name) => workspace.writeFile(name, name)));
  const read = await Promise.all(names.map((name) => workspace.readFile(name, { encoding: "utf8" })));
  assert.deepEqual(read, names);
});

test("a call that is given up rejects with the signal's reason", async () => {
  const reason = new Error("enough");
  await assert.rejects(workspace.readFile("f", { signal: AbortSignal.abort(reason) }), reason);
  await assert.rejects(workspace.run("sleep 9", { signal: AbortSignal.timeout(50) }), {
    name: "TimeoutError",
  });
});
