import { Environment } from "@envport/server";
import { EnvportError, ProtocolError } from "@envport/wire";
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expectTypeOf, onTestFinished, test } from "vitest";
import {
  HELLO,
  OLD_HELLO,
  SESSION_ID,
  codeOf,
  connected,
  fakeServer,
  freePort,
  memoryLogger,
  quiz,
  rejection,
  served,
} from "./_testing.ts";
import type { FakeConnection } from "./_testing.ts";
import type { Client } from "./client.ts";
import { connect } from "./connect.ts";

const quiet = { logger: memoryLogger() };

test("CLI-1: connect() waits while the connection is refused", async () => {
  const port = await freePort();
  const pending = connected(`127.0.0.1:${port}`);
  await sleep(120);
  await fakeServer((connection) => connection.hello().then(() => connection.serve()), { port });
  assert.equal((await pending).sessionId, SESSION_ID);
});

test("CLI-1: connect() tries up to the end of its time", async () => {
  const port = await freePort();
  const pending = connected(`127.0.0.1:${port}`, { readyTimeout: 900 });
  await sleep(400);
  await fakeServer((connection) => connection.hello().then(() => connection.serve()), { port });
  assert.equal((await pending).sessionId, SESSION_ID);
});

test.each<[string, (connection: FakeConnection) => void]>([
  ["is closed at once", ({ socket }) => socket.end()],
  [
    "is closed after the hello",
    (connection) => void connection.expect("hello").then(() => connection.socket.end()),
  ],
  ["is reset at once", (connection) => connection.reset()],
  [
    "is reset after the hello",
    (connection) => void connection.expect("hello").then(() => connection.reset()),
  ],
  ["ends in half a reply", ({ socket }) => socket.end('{"jsonrpc":"2.0","id":1,"resu')],
])("CLI-1: connect() takes for not ready yet what %s", async (_, misbehave) => {
  const server = await fakeServer(async (connection, index) => {
    if (index < 2) return misbehave(connection);
    await connection.hello();
    await connection.gone();
  });
  await connected(server.url);
  assert.equal(server.connections.length, 3);
});

test("CLI-1: connect() does not wait for ever for a port that accepts and says nothing", async () => {
  const server = await fakeServer((connection) => connection.gone());
  const error = await rejection(connect(server.url, { ...quiet, readyTimeout: 300 }));
  assert.equal(error.code, "not-ready");
  assert.match(
    error.message,
    /^Cannot connect to tcp:\/\/127\.0\.0\.1:\d+ as no environment answered within 0\.3 s \(last: no answer\)/,
  );
});

test.each([
  ["ECONNREFUSED", undefined],
  ["ECONNRESET", (connection: FakeConnection) => connection.expect("hello").then(() => connection.reset())],
  [
    "the server closed the connection",
    (connection: FakeConnection) => connection.expect("hello").then(() => void connection.socket.end()),
  ],
])(
  "CLI-1: the error of an environment that is never ready names the url, the time and the last reason, %s",
  async (reason, script) => {
    const url = script ? (await fakeServer(script)).url : `tcp://127.0.0.1:${await freePort()}`;
    const error = await rejection(connect(url, { ...quiet, readyTimeout: 150 }));
    assert.equal(error.code, "not-ready");
    assert.equal(
      error.message,
      `Cannot connect to ${url} as no environment answered within 0.15 s (last: ${reason}): is it served there?`,
    );
  },
);

test("CLI-1: connect() tries once where it may not wait", async () => {
  const server = await served(quiz().env);
  await connected(server.url, { readyTimeout: 0 });
  const url = `tcp://127.0.0.1:${await freePort()}`;
  assert.equal((await rejection(connect(url, { ...quiet, readyTimeout: 0 }))).code, "not-ready");
});

test("CLI-1: an error frame is final at once", async () => {
  const server = await fakeServer(async (connection) => {
    connection.fail(await connection.expect("hello"), -32600, "unknown session: 'sess-1'");
    await connection.gone();
  });
  const error = await rejection(connect(server.url, { ...quiet, sessionId: "sess-1" }));
  assert.ok(error instanceof ProtocolError);
  assert.equal(error.message, "unknown session: 'sess-1'");
  assert.equal(server.connections.length, 1);
});

test("CLI-1: an error frame without an id, as a server sends it that refuses the connection, is final too", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.expect("hello");
    connection.send({ id: null, error: { code: -32000, message: "the server has its 1 connections open" } });
    connection.socket.end();
  });
  const error = await rejection(connect(server.url, quiet));
  assert.ok(error instanceof ProtocolError);
  assert.equal(error.code, -32000);
  assert.equal(server.connections.length, 1);
});

test("CLI-1: what speaks another protocol is no environment, and never will be", async () => {
  const server = await fakeServer(async ({ socket }) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const error = await rejection(connect(server.url, quiet));
  assert.ok(error instanceof EnvportError);
  assert.equal(error.code, "protocol-violation");
});

test.each([
  ["in a pause", () => freePort().then((port) => `127.0.0.1:${port}`)],
  ["in a try", () => fakeServer((connection) => connection.gone()).then(({ url }) => url)],
])("CLI-1: a signal gives up %s, with its own reason", async (_, start) => {
  const controller = new AbortController();
  const outcome = rejection(connect(await start(), { ...quiet, signal: controller.signal }));
  await sleep(30);
  const reason = new Error("enough");
  controller.abort(reason);
  assert.equal(await outcome, reason);
  assert.equal(await rejection(connect("127.0.0.1:1", { ...quiet, signal: controller.signal })), reason);
});

test("CLI-1: time-outs hold while garbage is collected", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const collecting = setInterval(collect, 20);
  onTestFinished(() => clearInterval(collecting));
  const server = await fakeServer((connection) => connection.gone());
  const late = rejection(connect(server.url, { ...quiet, readyTimeout: 400 }));
  const aborted = rejection(connect(server.url, { ...quiet, signal: AbortSignal.timeout(300) }));
  assert.equal((await aborted).name, "TimeoutError");
  assert.equal((await late).code, "not-ready");
});

test("a signal that gives up after connect() has returned changes nothing", async () => {
  const controller = new AbortController();
  const client = await connected((await served(quiz().env)).url, { signal: controller.signal });
  controller.abort();
  await client.ping();
});

test("SESS-1: the manifest of a server that says all is read", async () => {
  const bindings = [
    { name: "shell", protocol: "ssh/2", url: "ssh://agent@127.0.0.1:22", params: { user: "agent" } },
  ];
  const server = await fakeServer(async (connection) => {
    const { params } = await connection.hello({ ...HELLO, bindings, more: 1 });
    assert.deepEqual(params, { replay: true });
    await connection.gone();
  });
  const client = await connected(server.url);
  assert.deepEqual(client.manifest, {
    sessionId: SESSION_ID,
    environment: { name: "fake", version: "1" },
    bindings,
    protocol: "envport/1",
    capabilities: HELLO.capabilities,
  });
  assert.deepEqual([client.environment, client.bindings, client.url], [HELLO.env, bindings, server.url]);
});

test("SESS-9: the manifest of a server that knows the base contract only is read", async () => {
  const server = await fakeServer((connection) => connection.hello(OLD_HELLO).then(() => connection.gone()));
  const { protocol, capabilities } = (await connected(server.url)).manifest;
  assert.deepEqual([protocol, capabilities], [undefined, {}]);
});

test.each([
  [{ ...HELLO, session_id: 7 }, "'session_id' must be a non-empty string: current value is 7"],
  [{ ...HELLO, session_id: "" }, "'session_id' must be a non-empty string"],
  [
    { ...HELLO, session_id: undefined },
    "'session_id' must be a non-empty string: current value is undefined",
  ],
  [{ ...HELLO, env: null }, "'env' must be an object: current value is null"],
  [{ ...HELLO, env: [] }, "'env' must be an object"],
  [{ ...HELLO, bindings: {} }, "'bindings' must be an array"],
  [{ ...HELLO, bindings: undefined }, "'bindings' must be an array"],
  [{ ...HELLO, bindings: ["x"] }, "bindings[0]: Cannot read binding as it must be an object"],
  [
    { ...HELLO, bindings: [{ name: "a", protocol: "b/1" }] },
    "bindings[0]: Cannot read binding as 'url' must be",
  ],
  [[], "it is no object"],
  ["hi", "it is no object"],
  [null, "it is no object"],
])("a reply to hello of a bad shape, %j, is an error that says what is wrong", async (result, message) => {
  const server = await fakeServer(async (connection) => {
    await connection.hello(result as object);
    await connection.gone();
  });
  const error = await rejection(connect(server.url, quiet));
  assert.ok(error instanceof EnvportError);
  assert.equal(error.code, "protocol-violation");
  assert.ok(error.message.includes(message), error.message);
});

test("SESS-2: a server that answers a resume with another session is an error", async () => {
  const server = await fakeServer((connection) => connection.hello().then(() => connection.gone()));
  const error = await rejection(connect(server.url, { ...quiet, sessionId: "sess-other" }));
  assert.equal(error.code, "protocol-violation");
  assert.match(error.message, /must be the session that was asked for, "sess-other"/);
});

test("names in env that are no text are empty", async () => {
  const hello = { ...HELLO, env: { name: { a: 1 } }, capabilities: "all", protocol: 1 };
  const server = await fakeServer((connection) => connection.hello(hello).then(() => connection.gone()));
  const { environment, capabilities, protocol } = (await connected(server.url)).manifest;
  assert.deepEqual([environment, capabilities, protocol], [{ name: "", version: "" }, {}, undefined]);
});

test("FRAME-1: a reply that arrives byte by byte is read as one", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.expect("hello");
    for (const byte of Buffer.from(
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, result: { ...HELLO, env: { name: "é" } } })}\n`,
    )) {
      connection.socket.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    await connection.gone();
  });
  assert.equal((await connected(server.url)).environment.name, "é");
});

test.each([
  ["readyTimeout", -1],
  ["readyTimeout", Number.NaN],
  ["heartbeatInterval", -1],
])("connect() refuses %s: %d", async (name, value) => {
  const error = await rejection(connect("127.0.0.1:1", { ...quiet, [name]: value }));
  assert.ok(error instanceof RangeError);
  assert.match(
    error.message,
    new RegExp(`'${name}' must be a number of milliseconds, 0 or more: current value is ${value}`),
  );
});

test("connect() refuses a url that it cannot read", async () => {
  assert.ok((await rejection(connect("http://127.0.0.1", quiet))) instanceof TypeError);
});

test("TASK-10: what tasks report reaches onProgress, and is asked for only if there is one", async () => {
  const env = new Environment({ name: "slow" });
  env.template("steps").run(async function* (_, ctx) {
    ctx.progress("half", 0.5);
    ctx.progress("no idea");
    yield "go";
    ctx.progress("grading", 1);
    yield 1;
  });
  const server = await served(env);
  const seen: unknown[] = [];
  const client = await connected(server.url, { onProgress: (...report) => seen.push(report) });
  await (await client.start("steps")).grade();
  assert.deepEqual(seen, [
    ["half", 0.5],
    ["no idea", undefined],
    ["grading", 1],
  ]);
});

test("notifications that are not understood are ignored", async () => {
  const seen: unknown[] = [];
  const server = await fakeServer(async (connection) => {
    const { params } = await connection.hello();
    assert.equal(params["progress"], true);
    connection.send({ method: "news", params: { a: 1 } });
    connection.send({ method: "tasks.progress", params: { message: 7 } }, { method: "tasks.progress" });
    connection.send({ method: "tasks.progress", params: { message: "a", fraction: "b" } });
    await connection.serve();
  });
  const client = await connected(server.url, { onProgress: (...report) => seen.push(report) });
  await client.ping();
  assert.deepEqual(seen, [["a", undefined]]);
});

test("what onProgress throws ends the connection and is the reason", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    connection.send({ method: "tasks.progress", params: { message: "a" } });
    await connection.gone();
  });
  const client = await connected(server.url, {
    onProgress: () => {
      throw new Error("broken listener");
    },
  });
  const reason = await client.closed;
  assert.match(reason.message, /broken listener/);
  assert.equal(codeOf(await rejection(client.ping())), codeOf(reason));
});

test("maxFrameBytes bounds what is received", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    connection.reply(await connection.expect("tasks.list"), { tasks: [], padding: "x".repeat(2_000) });
    await connection.gone();
  });
  const client = await connected(server.url, { maxFrameBytes: 1_000 });
  const error = await rejection(client.tasks());
  assert.equal(error.code, "protocol-violation");
  assert.match(error.message, /1000 bytes/);
});

test("connect() is typed", () => {
  expectTypeOf(connect).returns.resolves.toEqualTypeOf<Client>();
});
