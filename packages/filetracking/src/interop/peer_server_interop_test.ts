import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { git, read, temporaryFolder, write } from "../_testing.ts";
import { FileTrackingClient } from "../file_tracking_client.ts";
import { startPeer } from "./_testing_peer.ts";

/** The peer's server on a folder, and our client. */
async function connect(root: string, setup: boolean): Promise<FileTrackingClient> {
  const peer = await startPeer("peer_server.py", root);
  const client = await FileTrackingClient.connect({
    name: "filetracking",
    protocol: "filetracking/1",
    url: `tcp://127.0.0.1:${await peer.line()}`,
    params: setup ? { root, setup_diff: true } : { root },
  });
  onTestFinished(() => client.close());
  return client;
}

test("our client reads every method of the peer's server", async () => {
  const root = temporaryFolder();
  write(root, { "a.txt": "1\n" });
  const client = await connect(root, true);
  write(root, { "set-up.txt": "by the set-up\n" });
  expect(await client.setup()).toMatchObject({
    files_changed: 1,
    patches: [{ path: "set-up.txt", status: "added", size_before: 0, content_hash_before: null }],
  });
  const { files, files_scanned } = await client.snapshot();
  assert.equal(files_scanned, 2);
  expect(files[0]).toMatchObject({
    path: "a.txt",
    content_hash: "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865",
  });
  write(root, { "page.html": "<h1>42</h1>\n", ".env": "TOKEN=hunter2\n" });
  const { diff, capture } = await client.flush();
  assert.deepEqual(diff.patches.map(({ path }) => path).sort(), [".env", "page.html"]);
  expect(capture).toMatchObject({
    files_captured: 1,
    files: [{ path: "page.html", status: "added", content_type: "text/html" }],
  });
  write(root, { "b.txt": "2\n" });
  await client.advance();
  assert.equal((await client.diff()).files_changed, 0);
});

test("the peer's diffs become a patch that git apply takes", async () => {
  const root = temporaryFolder();
  write(root, { "edited.txt": "1\n2\n3\n4\n5\n", "gone.txt": "gone\n", "d/empty": "" });
  const client = await connect(root, false);
  assert.equal(await client.setup(), undefined);
  const copy = `${temporaryFolder()}/copy`;
  cpSync(root, copy, { recursive: true });
  write(root, { "edited.txt": "1\ntwo\n3\n4\n5\n", "na me.txt": "new\n", "n\xff": "no UTF-8\n", empty: "" });
  rmSync(`${root}/gone.txt`);
  rmSync(`${root}/d/empty`);
  assert.equal(git(copy, ["apply", "-"], await client.toPatch()).err, "");
  assert.deepEqual(read(copy), read(root));
});

test("our client takes a long reply of the peer's server", async () => {
  const root = temporaryFolder();
  const client = await connect(root, true);
  const line = `${'"\t'.repeat(39)}\n`;
  for (let index = 0; index < 45; index++) write(root, { [`f${index}.txt`]: line.repeat(12_000) });
  const { patches, truncated } = await client.diff();
  assert.deepEqual([patches.length, truncated], [45, undefined]);
});
