import assert from "node:assert/strict";
import net from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "vitest";
import { Peer, liveResources, memoryPair, socketPair, until } from "./_testing.ts";
import { EnvportError } from "./envport_error.ts";
import type { EnvportErrorCode } from "./envport_error.ts";
import { FramedStream } from "./framed_stream.ts";
import type { JsonObject } from "./json.ts";
import { ProtocolError } from "./protocol_error.ts";
import { RpcClient } from "./rpc_client.ts";
import type { RpcClientOptions } from "./rpc_client.ts";

interface Rig {
  client: RpcClient;
  near: Duplex;
  /** The server's side, spoken by hand. */
  peer: Peer;
}

function connect(
  [near, far]: [Duplex, Duplex],
  options: RpcClientOptions & { maxFrameBytes?: number } = {},
): Rig {
  const framed = new FramedStream(near, { maxFrameBytes: options.maxFrameBytes });
  return { client: new RpcClient(framed, options), near, peer: new Peer(far) };
}

const failsWith =
  (code: EnvportErrorCode) =>
  (error: unknown): boolean =>
    error instanceof EnvportError && error.code === code;

/** Answers the next request. */
async function answer(
  peer: Peer,
  reply: (id: unknown) => JsonObject = (id) => ({ id, result: { id } }),
): Promise<JsonObject> {
  const request = await peer.message();
  peer.send(JSON.stringify(reply(request["id"])));
  return request;
}

test("FRAME-11: a request is compact and in order, byte for byte", async () => {
  const { client, peer } = connect(await socketPair());
  const result = client.call("hello", { session_id: "sess-1" });
  assert.equal(
    await peer.line(),
    '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"session_id":"sess-1"}}',
  );
  peer.send('{"id":1,"result":{"ok":true}}');
  assert.deepEqual(await result, { ok: true });
  await client.close();
});

test("CLI-5: replies are matched by id, in whatever order they come", async () => {
  const { client, peer } = connect(await socketPair());
  const calls = Promise.all(Array.from({ length: 50 }, (_, i) => client.call("echo", { i })));
  assert.equal(client.pendingCalls, 50);
  const requests: { id: number; params: JsonObject }[] = [];
  for (let i = 0; i < 50; i++) requests.push((await peer.message()) as never);
  for (const { id, params } of requests.reverse()) peer.send(JSON.stringify({ id, result: params }));
  assert.deepEqual(
    await calls,
    Array.from({ length: 50 }, (_, i) => ({ i })),
  );
  assert.equal(client.pendingCalls, 0);
});

test("CLI-5: a server's error rejects its call as a ProtocolError, and the connection goes on", async () => {
  const { client, peer } = connect(await socketPair());
  const failing = client.call("tasks.grade", {});
  await answer(peer, (id) => ({
    id,
    error: { code: -32600, message: "no task in progress", data: { type: "no-task" } },
  }));
  await assert.rejects(
    failing,
    (error) => error instanceof ProtocolError && error.code === -32600 && error.data?.type === "no-task",
  );
  const next = client.call("ping", {});
  await answer(peer);
  assert.deepEqual(await next, { id: 2 });
});

test.each([
  ["an id that nobody waits for", '{"id":99,"result":{}}'],
  ["the id as a string", '{"id":"1","result":{}}'],
  ["a result with id null", '{"id":null,"result":{}}'],
  ["a frame that is no reply", '{"id":1}'],
  ["a batch", '[{"id":1,"result":{}}]'],
  ["a line that is no JSON", "{"],
  ["a notification whose params are an array", '{"method":"note","params":[]}'],
])("CLI-5: %s is a protocol error that ends the connection and fails every pending call", async (_, line) => {
  const { client, near, peer } = connect(await socketPair());
  const calls = [client.call("a", {}), client.call("b", {})];
  peer.send(line);
  await Promise.all(calls.map((call) => assert.rejects(call, failsWith("protocol-violation"))));
  assert.equal((await client.closed).code, "protocol-violation");
  assert.ok(near.destroyed);
  await assert.rejects(client.call("c", {}), failsWith("protocol-violation"));
  assert.equal(client.pendingCalls, 0);
});

test("CLI-5: a second reply to one call is one that nobody waits for", async () => {
  const { client, peer } = connect(await socketPair());
  const call = client.call("a", {});
  await peer.message();
  peer.send('{"id":1,"result":{}}', '{"id":1,"result":{}}');
  assert.deepEqual(await call, {});
  assert.equal((await client.closed).code, "protocol-violation");
});

test("CLI-5: an error without an id is told to whoever waits, and ends the connection", async () => {
  const { client, peer } = connect(await socketPair());
  const calls = [client.call("a", {}), client.call("b", {})];
  peer.send('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"frame too large"}}');
  await Promise.all(
    calls.map((call) => assert.rejects(call, { name: "ProtocolError", message: "frame too large" })),
  );
  const reason = await client.closed;
  assert.equal(reason.code, "protocol-violation");
  assert.match(reason.message, /frame too large/);
});

test.each(["end", "resetAndDestroy", "half a reply"])(
  "CLI-5: a connection that drops (%s) fails every pending call at once",
  async (how) => {
    const [near, far] = await socketPair();
    const { client } = connect([near, far]);
    const calls = [client.call("a", {}), client.call("b", {})];
    await sleep(10);
    if (how === "half a reply") far.end('{"id":1,"resu');
    else far[how as "end" | "resetAndDestroy"]();
    await Promise.all(calls.map((call) => assert.rejects(call, failsWith("connection-lost"))));
    assert.equal((await client.closed).code, "connection-lost");
    await assert.rejects(client.call("c", {}), failsWith("connection-lost"));
    await until(() => near.closed);
  },
);

test("CLI-5: replies that came before a drop still count", async () => {
  const [near, far] = await socketPair();
  const { client, peer } = connect([near, far]);
  const [first, second] = [client.call("a", {}), client.call("b", {})];
  peer.socket.end('{"id":1,"result":{}}\n');
  assert.deepEqual(await first, {});
  await assert.rejects(second, failsWith("connection-lost"));
});

test("FRAME-5: a request over the limit is a local error that names both sizes; nothing is sent, and the connection stays usable", async () => {
  const { client, peer } = connect(await socketPair(), { maxFrameBytes: 1_000 });
  await assert.rejects(
    client.call("tasks.start", { text: "x".repeat(2_000) }),
    (error) =>
      failsWith("frame-too-large")(error) &&
      /2\d\d\d bytes as the limit is 1000 bytes/.test((error as Error).message),
  );
  assert.equal(client.pendingCalls, 0);
  const next = client.call("ping", {});
  assert.equal((await answer(peer))["method"], "ping");
  await next;
});

test("FRAME-4: a reply over the limit ends the connection with a typed error", async () => {
  const { client, peer } = connect(await socketPair(), { maxFrameBytes: 1_000 });
  const call = client.call("a", {});
  peer.socket.write("x".repeat(1_001));
  await assert.rejects(call, failsWith("protocol-violation"));
  assert.match((await client.closed).message, /1000 bytes/);
});

test("FRAME-10: params with NaN are never sent; the error names the path, and the connection stays usable", async () => {
  const { client, peer } = connect(await socketPair());
  await assert.rejects(client.call("tasks.start", { args: { x: NaN } }), {
    name: "TypeError",
    message: /params\.args\.x/,
  });
  const next = client.call("ping", {});
  await answer(peer);
  await next;
});

test("FRAME-6: an empty line from the server is ignored", async () => {
  const { client, peer } = connect(await socketPair());
  const call = client.call("a", {});
  peer.send("", "\r", '{"id":1,"result":{}}');
  assert.deepEqual(await call, {});
});

test("a result that is no object fails its own call only", async () => {
  const { client, peer } = connect(await socketPair());
  const [first, second] = [client.call("a", {}), client.call("b", {})];
  peer.send('{"id":1,"result":[1]}', '{"id":2,"result":{}}');
  await assert.rejects(first, failsWith("protocol-violation"));
  assert.deepEqual(await second, {});
});

test("FRAME-8: notifications of the server are handed on, and a handler that throws ends the connection as itself", async () => {
  const seen: unknown[] = [];
  const fault = new Error("handler");
  const { client, peer } = connect(await socketPair(), {
    onNotification: (method, params) => {
      seen.push([method, params]);
      if (method === "bad") throw fault;
    },
  });
  peer.send(
    '{"method":"tasks.progress","params":{"message":"half"}}',
    '{"method":"note"}',
    '{"method":"bad"}',
  );
  const reason = await client.closed;
  assert.deepEqual(seen, [
    ["tasks.progress", { message: "half" }],
    ["note", {}],
    ["bad", {}],
  ]);
  assert.deepEqual([reason.code, reason.cause], ["closed", fault]);
});

test("a call that is given up rejects with the signal's reason, and its late reply is dropped", async () => {
  const { client, peer } = connect(await socketPair());
  const controller = new AbortController();
  const given = client.call("slow", {}, { signal: controller.signal });
  const kept = client.call("quick", {}, { signal: controller.signal });
  for (let i = 0; i < 2; i++) await peer.message();
  peer.send('{"id":2,"result":{}}');
  await kept;
  controller.abort(new Error("given up"));
  await assert.rejects(given, /given up/);
  assert.equal(client.pendingCalls, 0);
  await assert.rejects(client.call("late", {}, { signal: controller.signal }), /given up/);
  peer.send('{"id":1,"result":{}}');
  const next = client.call("ping", {});
  await answer(peer);
  assert.deepEqual(await next, { id: 3 });
  // The dropped reply is used up: another one with its id is a violation.
  peer.send('{"id":1,"result":{}}');
  assert.equal((await client.closed).code, "protocol-violation");
});

test("close() sends what was called, fails what is pending, is idempotent, and `closed` resolves", async () => {
  const { client, near, peer } = connect(await socketPair());
  const pending = client.call("bye", {});
  const closing = Promise.all([client.close(), client.close()]);
  await assert.rejects(pending, failsWith("closed"));
  assert.equal((await peer.message())["method"], "bye");
  assert.equal(await peer.line(), undefined);
  peer.socket.end();
  await closing;
  await client.close();
  assert.equal((await client.closed).code, "closed");
  assert.ok(near.closed);
  await assert.rejects(client.call("a", {}), failsWith("closed"));
});

test("close() does not wait for a server that does not end its direction, or does not read", async () => {
  for (const flood of [0, 64 * 1024 * 1024]) {
    const [near, far] = await socketPair();
    const client = new RpcClient(new FramedStream(near, { maxFrameBytes: 2 * flood }));
    far.pause();
    if (flood > 0) void client.call("big", { text: "x".repeat(flood) }).catch(() => {});
    const start = Date.now();
    await client.close();
    assert.ok(Date.now() - start < 5_000);
    assert.ok(near.destroyed);
  }
});

test("abort() ends the connection at once with its reason, is idempotent, and `closed` resolves", async () => {
  const { client, near } = connect(await socketPair());
  const pending = client.call("a", {});
  client.abort(new EnvportError("timeout", "Cannot go on as the heartbeat failed"));
  client.abort(new EnvportError("closed", "too late"));
  await assert.rejects(pending, failsWith("timeout"));
  assert.equal((await client.closed).code, "timeout");
  assert.ok(near.destroyed);
  await client.close();
  await assert.rejects(client.call("b", {}), failsWith("timeout"));
});

test("`await using` closes the client", async () => {
  const [near, far] = memoryPair();
  far.on("end", () => far.end()).resume();
  {
    await using client = new RpcClient(new FramedStream(near));
    assert.equal(client.pendingCalls, 0);
  }
  assert.ok(near.closed);
});

test("a client whose connection is refused says that it was lost, and why", async () => {
  const client = new RpcClient(new FramedStream(net.connect({ host: "127.0.0.1", port: 1 })));
  await assert.rejects(client.call("hello", {}), failsWith("connection-lost"));
  const { cause } = await client.closed;
  assert.equal((cause as NodeJS.ErrnoException).code, "ECONNREFUSED");
});

test("a client that has ended in any way leaves no socket and no timer", async () => {
  const before = liveResources();
  for (const end of ["close", "abort", "server"]) {
    const [near, far] = await socketPair();
    const { client } = connect([near, far]);
    far.on("end", () => far.end());
    if (end === "close") await client.close();
    else if (end === "abort") client.abort(new EnvportError("closed", "x"));
    else far.end();
    await client.closed;
    await until(() => near.closed);
  }
  await until(() => (liveResources()["TCPSocketWrap"] ?? 0) <= (before["TCPSocketWrap"] ?? 0));
  assert.ok((liveResources()["Timeout"] ?? 0) <= (before["Timeout"] ?? 0) + 1);
});
