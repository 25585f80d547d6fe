import { EnvportError } from "@envport/wire";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder, write } from "./_testing.ts";
import { fileTrackingServer } from "./create_file_tracking_server.ts";
import { FileTrackingClient } from "./file_tracking_client.ts";
import { FileTrackingServer } from "./file_tracking_server.ts";
import type { FileTrackingServerOptions } from "./file_tracking_server.ts";

interface Served {
  readonly root: string;
  readonly server: FileTrackingServer;
  readonly port: number;
}

async function serve(options: FileTrackingServerOptions = { port: 0 }): Promise<Served> {
  const root = temporaryFolder();
  const server = new FileTrackingServer(root, { log: () => undefined, ...options });
  onTestFinished(() => server.stop());
  const [capability] = await server.start();
  return { root, server, port: Number(new URL(capability!.url).port) };
}

const parse: (text: string) => ReturnType<typeof JSON.parse> = JSON.parse;
type Reply = ReturnType<typeof parse>;

/** A connection that speaks lines. */
async function dial(
  port: number,
): Promise<{ socket: Socket; ask: (line: unknown) => Promise<Reply>; next: () => Promise<Reply> }> {
  const socket = connect({ host: "127.0.0.1", port });
  await once(socket, "connect");
  onTestFinished(() => void socket.destroy());
  const lines = createInterface(socket)[Symbol.asyncIterator]();
  const next = async (): Promise<Reply> => {
    const { value, done } = await lines.next();
    return done ? undefined : parse(value);
  };
  const ask = async (line: unknown): Promise<Reply> => {
    socket.write(typeof line === "string" ? line : `${JSON.stringify(line)}\n`);
    return await next();
  };
  return { socket, ask, next };
}

test("FileTrackingServer publishes one capability, with a port of its own", async () => {
  const { root, server, port } = await serve();
  assert.ok(port > 0);
  assert.deepEqual(server.capability, {
    name: "filetracking",
    protocol: "filetracking/1",
    url: `tcp://127.0.0.1:${port}`,
    params: { root, setup_diff: true },
  });
  assert.equal(server.name, "file tracking 'filetracking'");
});

test("the five methods have the shapes of the wire", async () => {
  const { root, port } = await serve();
  const { ask } = await dial(port);
  write(root, { "a.txt": "1\n" });
  const setup = await ask({ jsonrpc: "2.0", id: 1, method: "setup", params: {} });
  assert.deepEqual(Object.keys(setup), ["jsonrpc", "id", "result"]);
  assert.deepEqual(Object.keys(setup.result), [
    ...["snapshot_timestamp", "scan_duration_ms", "files_scanned", "files_changed", "patches"],
  ]);
  assert.deepEqual(Object.keys(setup.result.patches[0]), [
    ...["path", "status", "patch", "size_before", "size_after", "content_hash_before", "content_hash_after"],
  ]);
  assert.deepEqual((await ask({ id: 2, method: "advance" })).result, { advanced: true });
  write(root, { "b.html": "2\n" });
  expect((await ask({ id: 3, method: "diff", params: {} })).result).toMatchObject({ files_changed: 1 });
  const hash = "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865";
  assert.deepEqual((await ask({ id: 4, method: "snapshot" })).result, {
    files: [
      { path: "a.txt", size: 2, content_hash: hash },
      {
        path: "b.html",
        size: 2,
        content_hash: "53c234e5e8472b6ac51c1ae1cab3fe06fad053beb8ebfd8977b010655bfdd3c3",
      },
    ],
    files_scanned: 2,
  });
  const { diff, capture } = (await ask({ id: "five", method: "flush" })).result;
  assert.equal(diff.files_changed, 0);
  expect(capture).toMatchObject({
    files_eligible: 1,
    files_captured: 1,
    files_skipped: 0,
    files: [
      { path: "b.html", status: "added", content_type: "text/html", file: { type: "file", data: "Mgo=" } },
    ],
  });
});

test("all connections share one state", async () => {
  const { root, port } = await serve();
  const [one, other] = [await dial(port), await dial(port)];
  write(root, { a: "1" });
  assert.equal((await one.ask({ id: 1, method: "diff" })).result.files_changed, 1);
  assert.equal((await other.ask({ id: 1, method: "diff" })).result.files_changed, 0);
  assert.equal((await other.ask({ id: 2, method: "snapshot" })).result.files_scanned, 1);
});

test("requests of one connection are answered in order, and notifications are not", async () => {
  const { root, port } = await serve();
  const { ask, next } = await dial(port);
  write(root, { a: "1" });
  const lines = [
    { method: "advance" },
    { id: 1, method: "diff" },
    { id: null, method: "diff" },
    { id: 2, method: "snapshot" },
  ];
  const first = await ask(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(first).toMatchObject({ id: 1, result: { files_changed: 0 } });
  expect(await next()).toMatchObject({ id: 2, result: { files_scanned: 1 } });
});

test("an unknown method is an error, and the connection goes on", async () => {
  const { port } = await serve();
  const { ask } = await dial(port);
  assert.deepEqual((await ask({ id: 7, method: "toString" })).error, {
    code: -32601,
    message: "method not found: toString",
  });
  assert.equal((await ask("no json\n")).error.code, -32700);
  assert.equal((await ask({ id: 8, method: "diff" })).id, 8);
});

test("a first line that is no request ends the connection: a web page's POST drives nothing", async () => {
  const { root, port } = await serve();
  write(root, { a: "1" });
  const body = `${JSON.stringify({ id: 1, method: "advance" })}\n`;
  const { ask, next } = await dial(port);
  const answer = await ask(`POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${body}`);
  assert.deepEqual([answer.id, answer.error.code], [null, -32700]);
  assert.equal(await next(), undefined);
  const second = await dial(port);
  assert.equal((await second.ask("[]\n")).error.code, -32600);
  assert.equal(await second.next(), undefined);
  const third = await dial(port);
  assert.equal((await third.ask({ id: 1, method: "diff" })).result.files_changed, 1);
});

test("a request line over 64 KiB is refused", async () => {
  const { port } = await serve();
  const { ask, next } = await dial(port);
  const { error } = await ask({ id: 1, method: "diff", params: { long: "x".repeat(70_000) } });
  assert.equal(error.code, -32600);
  assert.equal(await next(), undefined);
});

test(
  "a reply of 50 MiB of patches arrives whole, and the rest with the next one",
  { timeout: 120_000 },
  async () => {
    const { root, port } = await serve();
    const client = await FileTrackingClient.connect({
      name: "filetracking",
      protocol: "filetracking/1",
      url: `tcp://127.0.0.1:${port}`,
      params: {},
    });
    onTestFinished(() => client.close());
    const line = `${'"\t'.repeat(39)}\n`;
    for (let index = 0; index < 60; index++) write(root, { [`f${index}.txt`]: line.repeat(12_000) });
    const reports = [await client.diff()];
    while (reports.at(-1)!.truncated) reports.push(await client.diff());
    assert.ok(reports.length >= 2);
    assert.equal(new Set(reports.flatMap(({ patches }) => patches.map(({ path }) => path))).size, 60);
    for (const { patches } of reports) {
      assert.ok(patches.reduce((sum, { patch }) => sum + Buffer.byteLength(patch), 0) <= 50 * 1024 * 1024);
    }
  },
);

test("what was told to a connection that is gone is told again", { timeout: 60_000 }, async () => {
  const { root, port } = await serve();
  // More than the buffers of a connection hold.
  for (let index = 0; index < 30; index++) write(root, { [`big${index}.txt`]: "x\n".repeat(500_000) });
  const lost = connect({ host: "127.0.0.1", port });
  lost.write(`${JSON.stringify({ id: 1, method: "diff" })}\n`);
  await once(lost, "data");
  lost.resetAndDestroy();
  const { ask } = await dial(port);
  let changed = 0;
  for (let tries = 0; tries < 100 && changed === 0; tries++) {
    changed = (await ask({ id: tries, method: "diff" })).result.files_changed;
    await sleep(20);
  }
  assert.equal(changed, 30);
  assert.equal((await ask({ id: 1000, method: "diff" })).result.files_changed, 0);
});

test("a client that ends its direction is still answered", async () => {
  const { root, port } = await serve();
  write(root, { a: "1" });
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  socket.end(JSON.stringify({ id: 1, method: "diff" }));
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  assert.equal(JSON.parse(String(Buffer.concat(chunks))).result.files_changed, 1);
});

test("without host and port it listens on a socket that only this user reaches", async () => {
  const root = temporaryFolder();
  await using server = fileTrackingServer(root, { name: "files", publishedRoot: "/workspace" });
  const [capability] = await server.start();
  const { path } = capability!.dial as { path: string };
  expect(capability).toMatchObject({
    name: "files",
    url: "tcp://127.0.0.1:9095",
    params: { root: "/workspace", setup_diff: true },
  });
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
  const socket = connect(path);
  socket.write(`${JSON.stringify({ id: 1, method: "diff" })}\n`);
  const [chunk] = await once(socket, "data");
  assert.equal(JSON.parse(String(chunk)).result.files_changed, 0);
  socket.destroy();
  await server.stop();
  assert.ok(!existsSync(dirname(path)));
});

test("the path of its socket is short enough, wherever temporary files are", async () => {
  const deep = `${temporaryFolder()}/${"deep".repeat(30)}`;
  mkdirSync(deep);
  vi.stubEnv("TMPDIR", deep);
  onTestFinished(() => void vi.unstubAllEnvs());
  await using server = new FileTrackingServer(temporaryFolder());
  const [capability] = await server.start();
  const socket = connect((capability!.dial as { path: string }).path);
  await once(socket, "connect");
  socket.destroy();
});

test("it can be stopped, told so, and started again with a new baseline", async () => {
  const { root, server } = await serve();
  const { closed } = server;
  const { socket, ask } = await dial(Number(new URL(server.capability.url).port));
  await ask({ id: 1, method: "diff" });
  const ended = once(socket, "close");
  await Promise.all([server.stop(), server.stop()]);
  await ended;
  assert.equal(await closed, undefined);
  assert.throws(() => server.capability, /must be started/);
  write(root, { a: "1" });
  await Promise.all([server.start(), server.start()]);
  assert.equal((await server.tracker.diff()).files_changed, 0);
});

test("an address that is taken, and a directory that is missing, fail the start and leave nothing behind", async () => {
  const { port } = await serve();
  const before = readdirSync("/proc/self/fd").length;
  const code = (expected: string) => (error: unknown) =>
    error instanceof EnvportError && error.code === expected;
  await using taken = new FileTrackingServer(temporaryFolder(), { port });
  await assert.rejects(taken.start(), code("address-in-use"));
  await using missing = new FileTrackingServer(`${temporaryFolder()}/missing`);
  await assert.rejects(missing.start(), code("service-failed"));
  await sleep(50);
  expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before + 2);
});

test("IPv6 addresses stand in brackets", async () => {
  await using server = new FileTrackingServer(temporaryFolder(), { host: "::1" });
  const [capability] = await server.start();
  assert.match(capability!.url, /^tcp:\/\/\[::1\]:\d+$/);
  await using client = await FileTrackingClient.connect(capability!);
  assert.equal((await client.diff()).files_changed, 0);
});

test("a scan that fails is an error with the system's code, without a path", async () => {
  const logged: string[] = [];
  const { root, port } = await serve({ port: 0, log: (message) => logged.push(message) });
  renameSync(root, `${root}-moved`);
  symlinkSync(`${root}-moved`, root);
  const { ask } = await dial(port);
  const { error } = await ask({ id: 1, method: "diff" });
  assert.equal(error.code, -32000);
  assert.match(error.message, /^diff failed: (ENOTDIR|ELOOP)$/);
  assert.deepEqual(logged, ["diff failed"]);
  rmSync(root);
  renameSync(`${root}-moved`, root);
  assert.equal((await ask({ id: 2, method: "diff" })).result.files_changed, 0);
});
