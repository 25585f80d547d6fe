import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { git, read, temporaryFolder, write } from "../_testing.ts";
import type { FileDiff, FileFlush, FileManifest } from "../file_diff.ts";
import { FileTrackingClient } from "../file_tracking_client.ts";
import { FileTrackingServer } from "../file_tracking_server.ts";
import { toPatch } from "../to_patch.ts";
import { startPeer } from "./_testing_peer.ts";

interface Served {
  readonly root: string;
  readonly server: FileTrackingServer;
  /** Calls a method by the peer's client. */
  readonly call: <T>(method: string) => Promise<T>;
}

async function serve(): Promise<Served> {
  const root = temporaryFolder();
  write(root, { "old.txt": "old\n", "edited.txt": "1\n2\n3\n" });
  const server = new FileTrackingServer(root, { port: 0 });
  onTestFinished(() => server.stop());
  const [capability] = await server.start();
  const peer = await startPeer("peer_client.py", capability!.url);
  const call = async <T>(method: string): Promise<T> => {
    peer.say(method);
    return JSON.parse(await peer.line()) as T;
  };
  return { root, server, call };
}

test("the peer's client reads every method of our server", async () => {
  const { root, call } = await serve();
  write(root, { "set-up.txt": "by the set-up\n" });
  const setup = await call<FileDiff>("setup");
  expect(setup).toMatchObject({ files_changed: 1, patches: [{ path: "set-up.txt", status: "added" }] });
  const { files } = await call<FileManifest>("snapshot");
  assert.deepEqual(
    files.map(({ path }) => path),
    ["edited.txt", "old.txt", "set-up.txt"],
  );
  const copy = temporaryFolder();
  write(copy, { "old.txt": "old\n", "edited.txt": "1\n2\n3\n", "set-up.txt": "by the set-up\n" });

  write(root, { "edited.txt": "1\ntwo\n3\n", link: { target: "edited.txt" }, "n\xff": "no UTF-8\n" });
  rmSync(`${root}/old.txt`);
  const diff = await call<FileDiff>("diff");
  assert.equal(git(copy, ["apply", "-"], toPatch(diff)).err, "");
  assert.deepEqual(read(copy), read(root));
  assert.ok(
    diff.patches.some(({ path }) => path === "n\udcff"),
    "a name's bytes must come through",
  );

  write(root, { "page.html": "<h1>42</h1>\n", ".env": "TOKEN=hunter2\n" });
  const flush = await call<FileFlush>("flush");
  expect(flush.diff.patches.map(({ path }) => path).sort()).toEqual([".env", "page.html"]);
  expect(flush.capture.files).toMatchObject([{ path: "page.html", file: { media_type: "text/html" } }]);
  assert.ok(!JSON.stringify(flush).includes("hunter2"));
  assert.deepEqual(await call("advance"), { advanced: true });
  expect(await call("forget")).toEqual({
    failure: "filetracking 'forget' error: method not found: forget",
  });
});

test("the peer's client and ours share the state of our server", async () => {
  const { root, server, call } = await serve();
  await using client = await FileTrackingClient.connect(server.capability);
  write(root, { a: "1" });
  assert.equal((await client.diff()).files_changed, 1);
  assert.equal((await call<FileDiff>("diff")).files_changed, 0);
  write(root, { b: "2" });
  assert.equal((await call<FileDiff>("diff")).files_changed, 1);
  assert.equal((await client.diff()).files_changed, 0);
});

test("the peer's client takes our longest replies, and asks for the rest", async () => {
  const { root, call } = await serve();
  const line = `${'"\t'.repeat(39)}\n`;
  for (let index = 0; index < 56; index++) write(root, { [`f${index}.txt`]: line.repeat(12_000) });
  const first = await call<FileDiff>("diff");
  assert.equal(first.truncated, true);
  const bytes = first.patches.reduce((sum, { patch }) => sum + Buffer.byteLength(patch), 0);
  assert.ok(bytes > 45 * 1024 * 1024 && bytes <= 50 * 1024 * 1024, String(bytes));
  const second = await call<FileDiff>("diff");
  assert.equal(first.patches.length + second.patches.length, 56);
  assert.equal(second.truncated, undefined);
});
