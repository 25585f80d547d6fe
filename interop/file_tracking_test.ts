import { execFileSync } from "node:child_process";
import { chmod, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect } from "@envport/client";
import { filetracking } from "@envport/filetracking";
import type { FileCapture, FileDiff, FileManifest } from "@envport/filetracking";
import { Environment, serve } from "@envport/server";
import { ssh } from "@envport/ssh";
import { workspace } from "@envport/workspace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { peer, servePeer } from "./_peer.ts";

const python = peer("file_tracking");
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "envport-interop-"));
  await chmod(folder, 0o755);
});
afterAll(async () => {
  await python[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

interface Span {
  name: string;
  attributes: Record<string, unknown>;
}

/** The payloads of the spans of a name; the key they stand under is the peer's own. */
function payloads<T>(spans: readonly Span[], name: string): T[] {
  return spans
    .filter((span) => span.name === `filetracking.${name}`)
    .map(({ attributes }) => Object.values(attributes).find((value) => typeof value === "object") as T);
}

test("the peer's observer reads set-up, snapshot, diffs and captures of our workspace, through its own tunnel", async () => {
  const env = new Environment({ name: "tracked" });
  const shell = env.use(workspace(path.join(folder, "ours")));
  await using server = await serve(env);
  await shell.writeFile("seed.txt", "seed\n");
  const spans = (await python.call("observed", server.url)) as Span[];

  const [setup] = payloads<FileDiff>(spans, "setup");
  expect(setup!.patches.map(({ path: name, status }) => [name, status])).toEqual([["seed.txt", "added"]]);
  const [snapshot] = payloads<FileManifest>(spans, "snapshot");
  expect(snapshot!.files.map(({ path: name }) => name)).toEqual(["seed.txt"]);

  const diffs = payloads<FileDiff>(spans, "diff").flatMap(({ patches }) => patches);
  expect(diffs.map(({ path: name, status }) => `${status} ${name}`).toSorted()).toEqual([
    "added .env",
    "added a.txt",
    "added report.pdf",
    "deleted seed.txt",
    "modified a.txt",
  ]);
  expect(diffs.find(({ status }) => status === "modified")!.patch).toMatch(/^ first\n\+second$/m);
  expect(JSON.stringify(spans)).not.toContain("KEY=1");

  const [capture] = payloads<FileCapture>(spans, "capture");
  expect(capture!.files.map((file) => [file.path, file.content_type])).toEqual([
    ["report.pdf", "application/pdf"],
  ]);
  expect(Buffer.from(capture!.files[0]!.file.data, "base64").toString()).toBe("%PDF-1.4 report");
});

test("our client reads a workspace that the peer tracks, and its patch applies", async () => {
  const root = path.join(folder, "theirs");
  await using served = await servePeer("workspace_environment", { WORKSPACE_ROOT: root });
  await using client = await connect(served.url);
  const tracking = await client.open(filetracking);
  const shell = await client.open(ssh);
  await shell.run("printf 'one\\ntwo\\n' > list.txt");
  const setup = await tracking.setup();
  expect(setup!.patches.map(({ path: name, status }) => [name, status])).toEqual([["list.txt", "added"]]);
  expect((await tracking.snapshot()).files.map(({ path: name }) => name)).toEqual(["list.txt"]);
  const copy = path.join(folder, "copy");
  await cp(root, copy, { recursive: true });

  await shell.run("sed -i s/two/deux/ list.txt; echo new > new.txt");
  await writeFile(path.join(folder, "theirs.patch"), await tracking.toPatch());
  execFileSync("git", ["apply", path.join(folder, "theirs.patch")], { cwd: copy });
  expect(await readFile(path.join(copy, "list.txt"), "utf8")).toBe("one\ndeux\n");
  expect(await readFile(path.join(copy, "new.txt"), "utf8")).toBe("new\n");

  await shell.run("printf '%%PDF-1.4 report' > report.pdf");
  const { diff, capture } = await tracking.flush();
  expect(diff.patches.map(({ path: name }) => name)).toEqual(["report.pdf"]);
  expect(capture.files.map(({ path: name }) => name)).toEqual(["report.pdf"]);
});
