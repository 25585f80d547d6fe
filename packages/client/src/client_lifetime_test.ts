import { EnvportError, parseCapabilityUrl } from "@envport/wire";
import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expectTypeOf, test } from "vitest";
import {
  HELLO,
  codeOf,
  connected,
  daemon,
  fakeServer,
  memoryLogger,
  noted,
  quiz,
  rejection,
  relay,
  served,
  until,
} from "./_testing.ts";
import { Client } from "./client.ts";
import { connect } from "./connect.ts";

test("CLI-6: close() says no goodbye, and the task stays parked", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    assert.deepEqual(await connection.serve(), []);
  });
  await (await connected(server.url)).close();

  const { env, log } = quiz();
  const real = await served(env);
  const client = await connected(real.url);
  await client.start("ask");
  await client.close();
  await until(() => real.stats().sessions.parked === 1, "the session is parked");
  assert.deepEqual(log, ["start"]);
});

test("CLI-6: bye() gives the task up and closes", async () => {
  const { env, log } = quiz();
  const server = await served(env);
  const client = await connected(server.url);
  await client.start("ask");
  await client.bye();
  assert.deepEqual(log, ["start", "end"]);
  assert.equal((await client.closed).code, "closed");
  await until(() => server.stats().sessions.live === 0, "the session is gone");
  assert.equal(server.stats().sessions.parked, 0);
});

test("CLI-6: bye() keeps its place behind a start under way", async () => {
  const { env, log } = quiz();
  const client = await connected((await served(env)).url);
  const start = client.start("ask");
  await client.bye();
  assert.equal((await start).prompt, "Which?");
  assert.deepEqual(log, ["start", "end"]);
});

test("bye() over a dead connection says that the environment was not told, and closes all the same", async () => {
  const link = await relay((await served(quiz().env)).port);
  const client = await connected(link.url);
  link.cut();
  await client.closed;
  assert.equal((await rejection(client.bye())).code, "connection-lost");
  assert.equal((await rejection(client.ping())).code, "closed");
});

test("bye() gives up waiting with its signal, and closes", async () => {
  const server = await fakeServer((connection) => connection.hello().then(() => connection.gone()));
  const client = await connected(server.url);
  const controller = new AbortController();
  const outcome = rejection(client.bye({ signal: controller.signal }));
  controller.abort(new Error("enough"));
  assert.equal((await outcome).message, "enough");
  assert.equal((await client.closed).code, "closed");
});

test("close() is idempotent, and everything after it says that the client is closed", async () => {
  const client = await connected((await served(quiz().env)).url);
  assert.equal(client.close(), client.close());
  const calls = {
    tasks: client.tasks(),
    start: client.start("ask"),
    grade: client.grade("x", { adopt: true }),
    cancel: client.cancel(),
    ping: client.ping(),
    resume: client.resume(),
    bye: client.bye(),
  };
  for (const [name, call] of Object.entries(calls))
    assert.equal(codeOf(await rejection(call)), "closed", name);
  await client.close();
  client.abort();
  assert.equal((await client.closed).code, "closed");
});

test("close() fails what is pending, at once", async () => {
  const server = await fakeServer((connection) => connection.hello().then(() => connection.gone()));
  const client = await connected(server.url);
  const log: string[] = [];
  const calls = [noted(log, "start", client.start("a")), noted(log, "grade", client.grade("x"))];
  await client.close();
  await Promise.all(calls);
  assert.deepEqual(log.toSorted(), ["grade closed", "start closed"]);
});

test("close() does not wait for a server that never ends its side", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    connection.socket.pause();
  });
  await (await connected(server.url)).close();
});

test("abort() fails what is pending with its reason, and resets the tunnels at once", async () => {
  const echo = await daemon((socket) => socket.pipe(socket));
  const { env } = quiz();
  env.addCapability({ name: "echo", protocol: "echo/1", url: `tcp://127.0.0.1:${echo.port}`, params: {} });
  env.template("hang").run(async function* (_, { signal }) {
    await once(signal, "abort");
    yield "?";
  });
  const client = await connected((await served(env, { cancelGrace: 100 })).url);
  const stuck = { close: () => new Promise<void>(() => {}) };
  await client.open({ family: "echo", id: "echo/1", connect: async () => stuck });
  const socket = net.connect({
    host: "127.0.0.1",
    port: parseCapabilityUrl(client.binding("echo").url).port!,
  });
  socket.on("error", () => {}).write("x");
  await once(socket, "data");
  const start = rejection(client.start("hang"));
  await client.ping();
  const reason = new EnvportError("timeout", "the episode took too long");
  client.abort(reason);
  assert.equal(await start, reason);
  assert.equal(await client.closed, reason);
  await until(() => socket.closed, "the local connection is reset");
  client.abort();
  await client.close();
  assert.equal((await rejection(client.ping())).code, "closed");
});

test("abort() ends a close() that waits, and close() after abort() ends well", async () => {
  const { env } = quiz();
  const echo = await daemon((socket) => socket.pipe(socket));
  env.addCapability({ name: "echo", protocol: "echo/1", url: `tcp://127.0.0.1:${echo.port}`, params: {} });
  const { url } = await served(env);
  const first = await connected(url);
  await first.open({
    family: "echo",
    id: "echo/1",
    connect: async () => ({ close: () => new Promise<void>(() => {}) }),
  });
  const socket = net.connect({
    host: "127.0.0.1",
    port: parseCapabilityUrl(first.binding("echo").url).port!,
  });
  socket.on("error", () => {}).write("x");
  await once(socket, "data");
  const closing = first.close();
  first.abort();
  await until(() => socket.closed, "the local connection is reset");
  assert.equal(await Promise.race([closing.then(() => "closed"), sleep(2_500, "waiting")]), "closed");
  const second = await connected(url);
  second.abort();
  await second.close();
  assert.equal((await second.closed).code, "closed");
});

test("await using closes", async () => {
  const { env } = quiz();
  const server = await served(env);
  let outside: Client;
  {
    await using client = await connect(server.url);
    outside = client;
    await client.start("ask");
  }
  assert.equal((await outside.closed).code, "closed");
  await until(() => server.stats().sessions.parked === 1, "the session is parked");
});

/** What keeps the process alive: sockets, listeners, timers. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) {
    if (/^(TCP|Timeout|GetAddrInfo)/.test(name)) counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Waits until there is no more than there was before. */
async function untilNoMoreThan(before: Record<string, number>): Promise<void> {
  const more = (): string[] =>
    Object.keys(resources()).filter((name) => resources()[name]! > (before[name] ?? 0));
  await until(() => more().length === 0, `no more than ${JSON.stringify(before)}`);
}

test("no socket, listener or timer is left, however a client ends", async () => {
  const echo = await daemon((socket) => socket.pipe(socket));
  const { env } = quiz();
  env.addCapability({ name: "echo", protocol: "echo/1", url: `tcp://127.0.0.1:${echo.port}`, params: {} });
  const server = await served(env);
  const hanging = await fakeServer((connection) => connection.gone());
  const before = resources();
  const quiet = { logger: memoryLogger(), heartbeatInterval: 10 };
  for (let i = 0; i < 10; i++) {
    const client = await connect(server.url, quiet);
    const socket = net.connect({
      host: "127.0.0.1",
      port: parseCapabilityUrl(client.binding("echo").url).port!,
    });
    socket.on("error", () => {}).write("x");
    await once(socket, "data");
    const task = await client.start("ask");
    if (i % 2) await client.resume();
    if (i % 3) await task.grade("right");
    if (i % 5 === 0) client.abort();
    else await (i % 5 === 1 ? client.bye() : client.close());
    await until(() => socket.closed, "the local connection is reset");
    await rejection(connect(hanging.url, { ...quiet, readyTimeout: 0, signal: AbortSignal.timeout(20) }));
    await rejection(connect(server.url, { ...quiet, sessionId: "sess-none" }));
  }
  await until(() => server.stats().connections === 0, "the server has no connection");
  await untilNoMoreThan(before);
});

test("a client that has lost its connection and was closed leaves nothing", async () => {
  const before = resources();
  const server = await fakeServer(async (connection) => {
    await connection.hello({
      ...HELLO,
      bindings: [{ name: "a", protocol: "a/1", url: "tcp://127.0.0.1:1" }],
    });
    await sleep(20);
    connection.reset();
  });
  const client = await connected(server.url, { heartbeatInterval: 5 });
  await client.closed;
  await client.close();
  await server.stop();
  await untilNoMoreThan(before);
});

test("a client can only be made by connect()", () => {
  // @ts-expect-error -- the constructor is private
  expectTypeOf<typeof Client>().toBeConstructibleWith();
  expectTypeOf<Client>().toExtend<AsyncDisposable>();
});
