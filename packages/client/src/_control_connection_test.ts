import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished, test, vi } from "vitest";
import type { FakeConnection } from "./_testing.ts";
import {
  HELLO,
  OLD_HELLO,
  SESSION_ID,
  codeOf,
  connected,
  fakeServer,
  memoryLogger,
  noted,
  quiz,
  rejection,
  served,
  until,
} from "./_testing.ts";
import type { ClientEvents } from "./client.ts";

test("CLI-5: a call is sent only when the one before it has been answered", async () => {
  const methods: string[] = [];
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    let pending = 0;
    for (let frame = await connection.next(); frame; frame = await connection.next()) {
      const request = frame;
      methods.push(request.method);
      assert.equal(++pending, 1);
      setTimeout(() => {
        pending--;
        connection.reply(request, { prompt: "?", score: 1, tasks: [] });
      }, 15);
    }
  });
  const client = await connected(server.url);
  const [, task, evaluation] = await Promise.all([
    client.tasks(),
    client.start("a"),
    client.grade("x"),
    client.tasks(),
  ]);
  assert.equal(task.prompt, "?");
  assert.equal(evaluation.score, 1);
  assert.deepEqual(methods, ["tasks.list", "tasks.start", "tasks.grade", "tasks.list"]);
});

test("CLI-5: ping and cancel overtake a pending call", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    const start = await connection.expect("tasks.start");
    connection.reply(await connection.expect("ping"), {});
    const cancel = await connection.expect("tasks.cancel");
    connection.fail(start, -32000, "the call was cancelled");
    connection.reply(cancel, { cancelled: true });
    await connection.gone();
  });
  const client = await connected(server.url);
  const log: string[] = [];
  const start = noted(log, "start", client.start("a"));
  await noted(log, "ping", client.ping());
  await noted(log, "cancel", client.cancel());
  await start;
  assert.deepEqual(log, ["ping ok", "start -32000", "cancel ok"]);
});

test("CLI-5: replies are matched by their ids, whatever their order", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    const start = await connection.expect("tasks.start");
    const [first, second] = [await connection.expect("ping"), await connection.expect("ping")];
    connection.send(
      { id: second.id, result: {} },
      { id: first.id, result: {} },
      { id: start.id, result: { prompt: 1 } },
    );
    await connection.gone();
  });
  const client = await connected(server.url);
  const log: string[] = [];
  await Promise.all([
    noted(log, "start", client.start("a")),
    noted(log, "first", client.ping()),
    noted(log, "second", client.ping()),
  ]);
  assert.deepEqual(log, ["second ok", "first ok", "start ok"]);
});

test.each<[string, (connection: FakeConnection, id: number) => void]>([
  ["an id that no call has", (connection, id) => connection.send({ id: id + 7, result: {} })],
  ["the id of another type", (connection, id) => connection.send({ id: String(id), result: {} })],
  ["an id that was answered before", (connection, id) => connection.send({ id: id - 1, result: {} })],
  ["a second hello that nobody asked for", (connection) => connection.send({ id: 1, result: HELLO })],
  ["no result and no error", (connection, id) => connection.send({ id })],
  ["a line that is not JSON", ({ socket }) => socket.write("oops\n")],
  ["a line that is an array", ({ socket }) => socket.write("[]\n")],
])("CLI-5: a reply with %s ends the connection and fails the pending call", async (_, misbehave) => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    const { id } = await connection.expect("tasks.list");
    misbehave(connection, id);
    await connection.gone();
  });
  const client = await connected(server.url);
  const error = await rejection(client.tasks());
  assert.equal(error.code, "protocol-violation");
  assert.equal((await client.closed).code, "protocol-violation");
  assert.equal(await rejection(client.ping()), await client.closed);
});

test("CLI-5: an unsolicited reply ends an idle connection", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    connection.send({ id: 99, result: {} });
    await connection.gone();
  });
  const client = await connected(server.url);
  assert.equal((await client.closed).code, "protocol-violation");
});

test.each<[string, (connection: FakeConnection) => void]>([
  ["the server closes it", ({ socket }) => void socket.end()],
  ["it is reset", (connection) => connection.reset()],
  ["it ends in half a frame", ({ socket }) => void socket.end('{"jsonrpc":"2.0","id":2,')],
])("CLI-5: a dropped connection fails every pending call at once: %s", async (_, drop) => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    await connection.expect("tasks.start");
    await connection.expect("ping");
    drop(connection);
  });
  const client = await connected(server.url);
  const log: string[] = [];
  await Promise.all([
    noted(log, "start", client.start("a")),
    noted(log, "grade that waits", client.grade("x")),
    noted(log, "list that waits", client.tasks()),
    noted(log, "ping", client.ping()),
  ]);
  assert.deepEqual(log.toSorted(), [
    "grade that waits connection-lost",
    "list that waits connection-lost",
    "ping connection-lost",
    "start connection-lost",
  ]);
  assert.equal((await client.closed).code, "connection-lost");
  assert.equal(codeOf(await rejection(client.start("a"))), "connection-lost");
  assert.equal(codeOf(await rejection(client.cancel())), "connection-lost");
});

test("CLI-5: an error without an id fails every pending call with what the server says", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    await connection.expect("tasks.list");
    connection.send({ id: null, error: { code: -32600, message: "frame too large" } });
    await connection.gone();
  });
  const client = await connected(server.url);
  const error = await rejection(client.tasks());
  assert.deepEqual([error.code, error.message], [-32600, "frame too large"]);
  assert.match((await client.closed).message, /frame too large/);
});

test("FRAME-5: a request over the limit is never sent, and the client stays usable", async () => {
  const { env, log } = quiz();
  const client = await connected((await served(env)).url, { maxFrameBytes: 2_000 });
  const task = await client.start("ask");
  for (const oversized of [client.start("ask", { x: "x".repeat(3_000) }), task.grade("x".repeat(3_000))]) {
    const error = await rejection(oversized);
    assert.equal(error.code, "frame-too-large");
    assert.match(error.message, /of 30\d\d bytes as the limit is 2000 bytes/);
  }
  assert.equal((await task.grade("right")).score, 1);
  assert.deepEqual(log, ["start", "grade right", "end"]);
});

test("FRAME-10: what JSON cannot say is misuse, and the client stays usable", async () => {
  const client = await connected((await served(quiz().env)).url);
  const task = await client.start("ask");
  assert.ok((await rejection(task.grade(Number.NaN))) instanceof TypeError);
  assert.ok((await rejection(task.grade(1n))) instanceof TypeError);
  assert.equal((await task.grade("right")).score, 1);
});

test("a result that is no object fails the call alone", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    connection.reply(await connection.expect("tasks.list"), [1]);
    await connection.serve({ "tasks.list": { tasks: [] } });
  });
  const client = await connected(server.url);
  assert.equal((await rejection(client.tasks())).code, "protocol-violation");
  assert.deepEqual(await client.tasks(), []);
});

test("TASK-10: ping() asks an old server by a hello for the own session, and any answer will do", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello(OLD_HELLO);
    const start = await connection.expect("tasks.start");
    const hello = await connection.expect("hello");
    assert.deepEqual(hello.params, { session_id: SESSION_ID });
    connection.fail(hello, -32600, "hello: a task call is still running");
    connection.reply(start, { prompt: "?" });
    await connection.gone();
  });
  const client = await connected(server.url);
  const start = client.start("a");
  await client.ping();
  await start;
});

test("ping() gives up with its signal, and a late answer is no surprise", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    const first = await connection.expect("ping");
    const second = await connection.expect("ping");
    connection.reply(first, {});
    connection.reply(second, {});
    await connection.gone();
  });
  const client = await connected(server.url);
  const reason = new Error("enough");
  const controller = new AbortController();
  const outcome = rejection(client.ping({ signal: controller.signal }));
  controller.abort(reason);
  assert.equal(await outcome, reason);
  await client.ping();
});

test.each([
  ["ping", HELLO, {}],
  ["hello", OLD_HELLO, { session_id: SESSION_ID }],
])("CLI-7: the heartbeat is a %s where the server says %j", async (method, hello, params) => {
  let beats = 0;
  const server = await fakeServer(async (connection) => {
    await connection.hello(hello);
    for (let frame = await connection.next(); frame; frame = await connection.next()) {
      assert.deepEqual([frame.method, frame.params], [method, params]);
      connection.reply(frame, hello);
      beats++;
    }
  });
  const client = await connected(server.url, { heartbeatInterval: 20 });
  await until(() => beats >= 3, "three heartbeats");
  await client.close();
  const after = beats;
  await sleep(80);
  assert.equal(beats, after);
});

test("CLI-7: there is no heartbeat while a call is pending", async () => {
  let after: string | undefined;
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    const start = await connection.expect("tasks.start");
    const next = connection.next();
    assert.equal(await Promise.race([next, sleep(120, "silence")]), "silence");
    connection.reply(start, { prompt: "?" });
    after = (await next)?.method;
    await connection.gone();
  });
  const client = await connected(server.url, { heartbeatInterval: 10 });
  await client.start("a");
  await until(() => after !== undefined, "a heartbeat after the call");
  assert.equal(after, "ping");
});

test("CLI-7: an interval of 0 means no heartbeat", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    assert.deepEqual(await connection.serve(), []);
  });
  const client = await connected(server.url, { heartbeatInterval: 0 });
  await sleep(80);
  await client.close();
});

/** Lets what is in the sockets arrive, whatever the clock says. */
async function settle(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 10_000 && !condition(); i++) await new Promise(setImmediate);
}

/** Replaces the clock for the time of a test; returns the true `setTimeout`. */
function fakeClock(): typeof setTimeout {
  const { setTimeout: real } = globalThis;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  return real;
}

test("CLI-7: a heartbeat that is not answered within 5 s is told and logged, and ends the connection", async () => {
  let beats = 0;
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    while (await connection.next()) beats++;
  });
  const logger = memoryLogger();
  fakeClock();
  const client = await connected(server.url, { logger, readyTimeout: 1_000_000 });
  const told: ClientEvents["heartbeat:failed"][] = [];
  client.on("heartbeat:failed", (...event) => told.push(event));
  vi.advanceTimersByTime(119_999);
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  assert.equal(beats, 0);
  vi.advanceTimersByTime(1);
  await settle(() => beats > 0);
  assert.equal(beats, 1);
  vi.advanceTimersByTime(5_000);
  const reason = await client.closed;
  assert.equal(reason.code, "connection-lost");
  assert.match(reason.message, /did not answer a heartbeat/);
  assert.match((reason.cause as Error).message, /No answer within 5 s/);
  await settle(() => told.length > 0);
  assert.deepEqual(told, [[{ error: reason }]]);
  assert.deepEqual(
    logger.entries.map(({ level, message }) => [level, message]),
    [["warn", reason.message]],
  );
});

test("CLI-7: an error frame as the answer to a heartbeat ends nothing", async () => {
  let beats = 0;
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    for (let frame = await connection.next(); frame; frame = await connection.next()) {
      connection.fail(frame, -32601, "method not found: ping");
      beats++;
    }
  });
  const logger = memoryLogger();
  const client = await connected(server.url, { heartbeatInterval: 15, logger });
  await until(() => beats >= 3, "three heartbeats");
  assert.deepEqual(logger.entries, []);
  assert.equal((await rejection(client.ping())).code, -32601);
});

test.each<[string, (connection: FakeConnection, client: { close(): Promise<void> }) => unknown]>([
  ["this side closes the connection", (_, client) => client.close()],
  ["the other side closes the connection", ({ socket }) => socket.end()],
  ["the connection is reset", (connection) => connection.reset()],
])("CLI-7: a heartbeat that is on its way while %s is no failed heartbeat", async (_, end) => {
  let beat!: () => void;
  const sent = new Promise<void>((resolve) => (beat = resolve));
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    await connection.expect("ping");
    beat();
    await connection.gone();
  });
  const logger = memoryLogger();
  const client = await connected(server.url, { heartbeatInterval: 10, logger });
  client.on("heartbeat:failed", () => assert.fail("it was told"));
  await sent;
  await end(server.connections[0]!, client);
  await client.closed;
  await sleep(20);
  assert.deepEqual(logger.entries, []);
});

test("CLI-7: a heartbeat whose answer has arrived is not late because this process was busy", async () => {
  let beats = 0;
  const realSetTimeout = fakeClock();
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    for (let frame = await connection.next(); frame; frame = await connection.next()) {
      connection.reply(frame, {});
      beats++;
      // Both loop phases that follow find something to do: first the time-out, then the answer in the socket.
      realSetTimeout(() => vi.advanceTimersByTime(6_000), 1);
      for (const busyUntil = performance.now() + 5; performance.now() < busyUntil;);
    }
  });
  const client = await connected(server.url, { readyTimeout: 1_000_000 });
  vi.advanceTimersByTime(120_000);
  await settle(() => beats > 0);
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  await client.ping();
  assert.equal(beats, 2);
});
