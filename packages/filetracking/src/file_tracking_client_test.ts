import { EnvportError, FramedStream, ProtocolError, RpcServer } from "@envport/wire";
import type { Capability, JsonObject, RequestMessage } from "@envport/wire";
import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { onTestFinished, test } from "vitest";
import { git, read, temporaryFolder, write } from "./_testing.ts";
import { FileTrackingClient } from "./file_tracking_client.ts";
import { FileTrackingServer } from "./file_tracking_server.ts";
import { filetracking } from "./filetracking.ts";

/** A server that answers as it is told, and notes what it is asked. */
async function stub(
  answer: (method: string) => JsonObject,
  params: JsonObject = { root: "/r", setup_diff: true },
): Promise<{ capability: Capability; requests: RequestMessage[] }> {
  const requests: RequestMessage[] = [];
  const server = createServer((socket) => {
    void new RpcServer(new FramedStream(socket), {
      handle: (request) => {
        requests.push(request);
        return answer(request.method);
      },
      describeError: (error) => new ProtocolError(-32000, String(error)),
    }).run();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    capability: { name: "filetracking", protocol: "filetracking/1", url: `tcp://127.0.0.1:${port}`, params },
    requests,
  };
}

const code = (expected: string) => (error: unknown) =>
  error instanceof EnvportError && error.code === expected;

test("toPatch() is the agent's work as one patch that git apply takes", async () => {
  const root = temporaryFolder();
  write(root, {
    "src/sum.js": "const sum = (a, b) => a - b;\nmodule.exports = sum;\n",
    "old.txt": "bye",
    "run.sh": "#!/bin/sh\n",
  });
  write(root, { "bin.dat": Buffer.from([0, 1, 2, 3]) });
  await using server = new FileTrackingServer(root, { port: 0 });
  const [capability] = await server.start();
  await using client = await filetracking.connect(capability!);
  write(root, { "set-up.txt": "by the set-up\n" });
  assert.equal((await client.setup())!.files_changed, 1);
  const copy = `${temporaryFolder()}/copy`;
  cpSync(root, copy, { recursive: true });

  write(root, { "src/sum.js": "const sum = (a, b) => a + b;\nmodule.exports = sum;\n" });
  write(root, { "run.sh": { content: "#!/bin/sh\n", mode: 0o755 }, "bin.dat": Buffer.from([9, 8, 7, 0]) });
  write(root, { "na me\n.txt": "no newline", latest: { target: "src" }, "n\xff": "bytes", empty: "" });
  rmSync(`${root}/old.txt`);
  const patch = await client.toPatch();
  assert.equal(git(copy, ["apply", "-"], patch).err, "");
  assert.deepEqual(read(copy), read(root));
  assert.equal(await client.toPatch(), "");
});

test("toPatch() asks until nothing is left", async () => {
  const head = { snapshot_timestamp: 1, scan_duration_ms: 1, files_scanned: 2, files_changed: 1 };
  const entry = (path: string): JsonObject => ({
    ...{ path, status: "added", patch: `diff --git a/${path} b/${path}\nnew file mode 100644\n` },
    ...{ size_before: 0, size_after: 0, content_hash_before: null, content_hash_after: null },
  });
  const replies = [
    { ...head, patches: [entry("a")], truncated: true },
    { ...head, patches: [entry("b")], truncated: true },
    { ...head, patches: [], truncated: true },
  ];
  const { capability } = await stub(() => replies.shift()!);
  await using client = await FileTrackingClient.connect(capability);
  assert.match(await client.toPatch(), /a\/a b\/a\n[^]*a\/b b\/b\n/);
  assert.equal(replies.length, 0);
});

test("requests have integer ids, in order, and empty params", async () => {
  const { capability, requests } = await stub(() => ({ advanced: true }));
  await using client = await FileTrackingClient.connect(capability);
  await client.advance();
  await Promise.all([client.diff(), client.snapshot(), client.flush(), client.setup()]);
  assert.deepEqual(
    requests.map(({ id, method, params }) => [id, method, params]),
    ["advance", "diff", "snapshot", "flush", "setup"].map((method, index) => [index + 1, method, {}]),
  );
  assert.equal(client.root, "/r");
});

test("setup() only moves the baseline of a server that knows no more", async () => {
  const { capability, requests } = await stub(() => ({ advanced: true }), {});
  await using client = await FileTrackingClient.connect(capability);
  assert.equal(await client.setup(), undefined);
  assert.deepEqual(
    requests.map(({ method }) => method),
    ["advance"],
  );
  assert.equal(client.root, undefined);
});

test("an error of the server is thrown as it came", async () => {
  const { capability } = await stub(() => {
    throw new ProtocolError(-32000, "diff failed: EMFILE");
  });
  await using client = await FileTrackingClient.connect(capability);
  await assert.rejects(
    client.diff(),
    (error) => error instanceof ProtocolError && error.message === "diff failed: EMFILE",
  );
});

/** A server whose one reply is a line of so many bytes. */
async function longReply(bytes: number): Promise<Capability> {
  const [head, tail] = [`{"jsonrpc":"2.0","id":1,"result":{"files":[],"long":"`, `"}}\n`];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(head);
      socket.write(Buffer.alloc(bytes - head.length - tail.length, "x"));
      socket.write(tail);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { name: "filetracking", protocol: "filetracking/1", url: `tcp://127.0.0.1:${port}`, params: {} };
}

test("a reply may be 160 MiB long; a longer one ends the connection", { timeout: 60_000 }, async () => {
  const most = 160 * 1024 * 1024;
  await using client = await FileTrackingClient.connect(await longReply(most));
  const reply = (await client.snapshot()) as unknown as { long: string };
  assert.ok(reply.long.length > most - 100);
  await using other = await FileTrackingClient.connect(await longReply(most + 10));
  await assert.rejects(other.snapshot(), code("protocol-violation"));
});

test("connect() refuses another family, and says when nothing answers", async () => {
  const capability = { name: "x", protocol: "filetracking/1", url: "tcp://127.0.0.1:1", params: {} };
  await assert.rejects(
    FileTrackingClient.connect({ ...capability, protocol: "ssh/2" }),
    code("invalid-value"),
  );
  await assert.rejects(FileTrackingClient.connect(capability), code("connection-lost"));
  await assert.rejects(
    FileTrackingClient.connect(capability, { signal: AbortSignal.abort(new Error("given up")) }),
    /given up/,
  );
});

test("a lost connection fails what waits", async () => {
  const root = temporaryFolder();
  await using server = new FileTrackingServer(root, { port: 0 });
  const [capability] = await server.start();
  const client = await FileTrackingClient.connect(capability!);
  await server.stop();
  await assert.rejects(client.diff(), code("connection-lost"));
  assert.equal((await client.closed).code, "connection-lost");
  await client.close();
  await client.close();
});
