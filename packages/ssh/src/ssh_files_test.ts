import { EnvportError } from "@envport/wire";
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { runCommand, startRelay, startSshd } from "./_testing.ts";
import type { TestServer } from "./_testing.ts";
import { FileError } from "./file_error.ts";
import { SshClient } from "./ssh_client.ts";

let server: TestServer;
let client: SshClient;
beforeAll(async () => {
  server = await startSshd();
  client = await SshClient.connect(server.capability);
});
afterAll(async () => {
  await client.close();
  await server[Symbol.asyncDispose]();
});

const at = (name: string): string => join(server.folder, name);
const failsWith = (promise: Promise<unknown>, code: string): Promise<void> =>
  assert.rejects(promise, (error) => error instanceof FileError && error.code === code);

test("writeFile() and readFile() carry content of every size as it is", async () => {
  for (const size of [0, 1, 131_071, 131_072, 131_073, 5_000_000]) {
    const content = randomBytes(size);
    await client.writeFile(at("file"), content);
    assert.ok((await readFile(at("file"))).equals(content), String(size));
    assert.ok((await client.readFile(at("file"))).equals(content), String(size));
  }
});

test("writeFile() replaces a longer file, and sets the mode of a new one", async () => {
  await client.writeFile(at("script"), "a long first version", { mode: 0o755 });
  await client.writeFile(at("script"), "short");
  assert.equal(await client.readFile(at("script"), { encoding: "utf8" }), "short");
  assert.equal((await stat(at("script"))).mode & 0o777, 0o755);
});

test("readFile() refuses a file over the limit instead of cutting it", async () => {
  await writeFile(at("hundred"), Buffer.alloc(100));
  assert.equal((await client.readFile(at("hundred"), { maxBytes: 100 })).length, 100);
  await failsWith(client.readFile(at("hundred"), { maxBytes: 99 }), "EFBIG");
});

test("readFile() reads files that name no size", async () => {
  assert.match(await client.readFile("/proc/self/status", { encoding: "utf8" }), /^Name:/);
  await failsWith(client.readFile("/proc/self/status", { maxBytes: 10 }), "EFBIG");
});

test("files that are missing, directories and pipes are refused, each with its code", async () => {
  await mkdir(at("folder"));
  await runCommand("mkfifo", at("pipe"));
  await failsWith(client.readFile(at("missing")), "ENOENT");
  await failsWith(client.stat(at("missing")), "ENOENT");
  await failsWith(client.list(at("missing")), "ENOENT");
  await failsWith(client.readFile(at("folder")), "EISDIR");
  await failsWith(client.writeFile(at("folder"), ""), "EISDIR");
  await failsWith(client.readFile(at("pipe")), "ENOTFILE");
  await failsWith(client.writeFile(at("pipe"), ""), "ENOTFILE");
  await failsWith(client.writeFile(at("missing/file"), ""), "ENOENT");
  await assert.rejects(client.readFile("a\0b"), TypeError);
});

test("list() and stat() describe files, folders and links", async () => {
  await mkdir(at("tree/folder"), { recursive: true });
  await writeFile(at("tree/file"), "four", { mode: 0o600 });
  await symlink("file", at("tree/link"));
  const entries = await client.list(at("tree"));
  assert.deepEqual(
    entries.map(({ name, type }) => [name, type]),
    [
      ["file", "file"],
      ["folder", "directory"],
      ["link", "symlink"],
    ],
  );
  const { mtimeMs, ...stats } = await client.stat(at("tree/link"));
  assert.deepEqual(stats, { type: "file", size: 4, mode: 0o600 });
  assert.ok(Math.abs(mtimeMs - Date.now()) < 60_000);
});

test("relative paths start at the folder that the binding names", async () => {
  const { capability } = server;
  const params = { ...capability.params, cwd: server.folder };
  await using other = await SshClient.connect({ ...capability, params });
  await other.writeFile("relative", "here");
  assert.equal(await readFile(at("relative"), "utf8"), "here");
});

test("a thousand file operations at once all return right", async () => {
  const names = Array.from({ length: 500 }, (_, i) => `many-${String(i)}`);
  await Promise.all(names.map((name) => client.writeFile(at(name), name)));
  const read = await Promise.all(names.map((name) => client.readFile(at(name), { encoding: "utf8" })));
  assert.deepEqual(read, names);
});

test("a file operation under way when the connection breaks fails, and the next one works", async () => {
  await using relay = await startRelay(server.capability);
  await using own = await SshClient.connect(relay.capability);
  await own.writeFile(at("lost"), "first");
  const content = randomBytes(30_000_000);
  const writing = own.writeFile(at("lost"), content);
  setTimeout(() => relay.cut(), 30);
  await assert.rejects(writing, (error) => error instanceof EnvportError && error.code === "connection-lost");
  await own.writeFile(at("lost"), "second");
  assert.equal(await own.readFile(at("lost"), { encoding: "utf8" }), "second");
});

test("an operation that is given up rejects with the signal's reason", async () => {
  const reason = new Error("enough");
  await assert.rejects(client.stat(at("file"), { signal: AbortSignal.abort(reason) }), reason);
});

test("sftp() is a session of the ssh2 package", async () => {
  const sftp = await client.sftp();
  const target = await new Promise((resolve, reject) => {
    sftp.realpath(".", (error, path) => (error ? reject(error) : resolve(path)));
  });
  assert.equal(typeof target, "string");
  sftp.end();
});
