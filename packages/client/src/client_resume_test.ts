import { Environment, serve } from "@envport/server";
import { EnvportError, ProtocolError, parseCapabilityUrl } from "@envport/wire";
import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished, test } from "vitest";
import {
  HELLO,
  OLD_HELLO,
  SESSION_ID,
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

test("CLI-9: resume() after the server has closed the connection goes on with the same session and task", async () => {
  const { env, log } = quiz();
  const server = await served(env);
  const link = await relay(server.port);
  const client = await connected(link.url);
  const { sessionId } = client;
  const task = await client.start("ask");
  link.cut();
  assert.equal((await client.closed).code, "connection-lost");
  await client.resume();
  assert.equal(client.sessionId, sessionId);
  assert.equal((await task.grade("right")).score, 1);
  assert.deepEqual(log, ["start", "grade right", "end"]);
  assert.deepEqual(server.stats().sessions, { live: 1, parked: 0 });
});

test("SESS-8: resume() takes the session over where the server has not missed the old connection", async () => {
  const { env } = quiz();
  const server = await served(env);
  const link = await relay(server.port);
  const client = await connected(link.url);
  const task = await client.start("ask");
  link.freeze();
  await client.resume();
  assert.equal((await task.grade("right")).score, 1);
});

test("CLI-9: an old server frees the session once it has missed the old connection; until then resume() tries", async () => {
  const server = await fakeServer(async (connection, index) => {
    if (index === 0) await connection.hello(OLD_HELLO);
    else {
      const hello = await connection.expect("hello");
      assert.deepEqual(hello.params, { replay: true, session_id: SESSION_ID, takeover: true });
      if (index < 3) connection.fail(hello, -32600, `session '${SESSION_ID}' has a live connection`);
      else connection.reply(hello, OLD_HELLO);
    }
    await connection.gone();
  });
  const client = await connected(server.url);
  await client.resume();
  assert.equal(server.connections.length, 4);
});

test("CLI-9: after a restart of the server the session is unknown, and resume() says so", async () => {
  const { env } = quiz();
  const first = await serve(env, { logger: memoryLogger() });
  const { port, url } = first;
  const client = await connected(url);
  const task = await client.start("ask");
  await first.close();
  await served(env, { port });
  const error = await rejection(client.resume());
  assert.ok(error instanceof ProtocolError);
  assert.equal(error.data?.type, "unknown-session");
  assert.equal(codeOf(await rejection(task.grade("right"))), "connection-lost");
});

test("CLI-9: resume() waits for a server that is not back yet", async () => {
  const answer = (port?: number) =>
    fakeServer(
      (connection) => connection.hello().then(() => connection.gone()),
      port === undefined ? {} : { port },
    );
  const first = await answer();
  const client = await connected(first.url);
  await first.stop();
  const resumed = client.resume();
  await sleep(150);
  await answer(first.port);
  await resumed;
  await client.resume();
});

test("CLI-9: forwarders keep their ports over a resume, and what they carry", async () => {
  const echo = await daemon((socket) => socket.pipe(socket));
  const { env } = quiz();
  env.addCapability({ name: "echo", protocol: "echo/1", url: `tcp://127.0.0.1:${echo.port}`, params: {} });
  const client = await connected((await served(env)).url);
  await client.start("ask");
  const { url } = client.binding("echo");
  const dial = (): net.Socket => net.connect({ host: "127.0.0.1", port: parseCapabilityUrl(url).port! });
  const before = dial();
  onTestFinished(() => void before.destroy());
  const say = async (socket: net.Socket, text: string): Promise<void> => {
    socket.write(text);
    assert.equal(String(((await once(socket, "data")) as [Buffer])[0]), text);
  };
  await say(before, "before");
  await client.resume();
  assert.equal(client.binding("echo").url, url);
  await say(before, "still");
  const after = dial();
  onTestFinished(() => void after.destroy());
  await say(after, "after");
});

test("CLI-9: bindings that came or went while the connection was lost have come and gone after it", async () => {
  const binding = (name: string) => ({ name, protocol: `${name}/1`, url: "tcp://127.0.0.1:7", params: {} });
  const server = await fakeServer(async (connection, index) => {
    await connection.hello({
      ...HELLO,
      bindings: index === 0 ? [binding("old"), binding("kept")] : [binding("kept"), binding("new")],
    });
    await connection.gone();
  });
  const client = await connected(server.url);
  const [old, kept] = [client.binding("old").url, client.binding("kept").url];
  await client.resume();
  assert.equal(client.binding("kept").url, kept);
  assert.match(client.binding("new").url, /^tcp:\/\/127\.0\.0\.1:/);
  assert.throws(() => client.binding("old"), { code: "unknown-binding" });
  const [error] = (await once(net.connect(parseCapabilityUrl(old).port!, "127.0.0.1"), "error")) as [Error];
  assert.equal(codeOf(error), "ECONNREFUSED");
});

test("SESS-6: an evaluation that was lost on the way is served again after a resume, and nothing runs twice", async () => {
  const { env, log } = quiz();
  const link = await relay((await served(env)).port);
  const client = await connected(link.url);
  const task = await client.start("ask");
  link.mute();
  const lost = rejection(task.grade("right"));
  await until(() => log.at(-1) === "end", "the grade is done");
  link.cut();
  assert.equal((await lost).code, "connection-lost");
  await client.resume();
  assert.deepEqual(await task.grade("wrong"), { score: 1 });
  assert.deepEqual(await client.grade("wrong"), { score: 1 });
  assert.deepEqual(log, ["start", "grade right", "end"]);
});

test("SESS-6: after a resume of a session whose start never arrived nothing is graded blind", async () => {
  const { env, log } = quiz();
  const server = await served(env);
  const other = await connected(server.url);
  await other.start("ask");
  await other.close();
  const link = await relay(server.port);
  const client = await connected(link.url);
  link.freeze();
  const lost = rejection(client.start("ask"));
  await client.resume();
  assert.equal((await lost).code, "connection-lost");
  assert.equal((await rejection(client.grade("right"))).code, "no-task");
  assert.deepEqual(log, ["start"]);
  assert.equal((await (await client.start("ask")).grade("right")).score, 1);
});

test("SESS-6: a session that is resumed by its id is graded without more ado", async () => {
  const { url } = await served(quiz().env);
  const first = await connected(url);
  await first.start("ask");
  await first.close();
  const second = await connected(url, { sessionId: first.sessionId });
  assert.equal(second.sessionId, first.sessionId);
  assert.equal((await second.grade("right")).score, 1);
});

test("SESS-2: a session that has a live connection is not resumed by another client", async () => {
  const { url } = await served(quiz().env);
  const first = await connected(url);
  const error = await rejection(connected(url, { sessionId: first.sessionId }));
  assert.match(error.message, /has a live connection/);
});

test("CLI-9: calls that are pending or waiting when resume() begins fail at once", async () => {
  const server = await fakeServer((connection) => connection.hello().then(() => connection.gone()));
  const client = await connected(server.url);
  const log: string[] = [];
  const calls = [
    noted(log, "start", client.start("a")),
    noted(log, "grade", client.grade("x")),
    noted(log, "ping", client.ping()),
  ];
  await client.resume();
  await Promise.all(calls);
  assert.deepEqual(log.toSorted(), [
    "grade connection-lost",
    "ping connection-lost",
    "start connection-lost",
  ]);
});

test("CLI-9: resume() while another resume is under way waits for that one", async () => {
  const server = await fakeServer(async (connection, index) => {
    await sleep(index === 0 ? 0 : 50);
    await connection.hello();
    await connection.gone();
  });
  const client = await connected(server.url);
  await Promise.all([client.resume(), client.resume(), client.resume()]);
  assert.equal(server.connections.length, 2);
  await client.resume();
  assert.equal(server.connections.length, 3);
});

test("CLI-9: a signal gives up a resume for its caller; the next one begins anew", async () => {
  const server = await fakeServer(async (connection, index) => {
    if (index === 1) return await connection.gone();
    await connection.hello();
    await connection.serve();
  });
  const client = await connected(server.url);
  const controller = new AbortController();
  const outcome = rejection(client.resume({ signal: controller.signal }));
  await until(() => server.connections.length === 2, "the resume is under way");
  controller.abort(new Error("enough"));
  assert.equal((await outcome).message, "enough");
  await client.resume();
  await client.ping();
  assert.equal(server.connections.length, 3);
});

test.each(["close", "abort"] as const)("CLI-9: %s() ends a resume that is under way", async (how) => {
  let gone = false;
  const server = await fakeServer(async (connection, index) => {
    if (index === 0) await connection.hello();
    await connection.gone();
    if (index === 1) gone = true;
  });
  const client = await connected(server.url);
  const outcome = rejection(client.resume());
  await until(() => server.connections.length === 2, "the resume is under way");
  await client[how]();
  assert.equal((await outcome).code, "closed");
  await until(() => gone, "its connection has ended");
  assert.equal((await rejection(client.resume())).code, "closed");
});

test("CLI-9: close() in any moment of a resume leaves no connection behind", async () => {
  const binding = { name: "new", protocol: "new/1", url: "tcp://127.0.0.1:7" };
  for (let moment = 0; moment < 12; moment++) {
    let open = 0;
    let answered = false;
    const server = await fakeServer(async (connection, index) => {
      open++;
      await connection.hello({ ...HELLO, bindings: index === 0 ? [] : [binding] });
      answered = index === 1;
      await connection.gone();
      open--;
    });
    const client = await connected(server.url);
    const resumed = client.resume().catch(() => {});
    while (!answered) await new Promise(setImmediate);
    for (let i = 0; i < moment; i++) await Promise.resolve();
    for (let i = 4; i < moment; i++) await new Promise(setImmediate);
    await client.close();
    await resumed;
    await until(() => open === 0, `no connection is open after a close at moment ${moment}`);
  }
});

test("closed is about the connection of now", async () => {
  const server = await fakeServer((connection) => connection.hello().then(() => connection.serve()));
  const client = await connected(server.url);
  const before = client.closed;
  await client.resume();
  assert.equal((await before).code, "connection-lost");
  assert.notEqual(client.closed, before);
  const state = await Promise.race([client.closed, sleep(20, "open")]);
  assert.equal(state, "open");
  await client.close();
  const reason = await client.closed;
  assert.ok(reason instanceof EnvportError);
  assert.equal(reason.code, "closed");
});

test("CLI-7: after a resume there is one heartbeat, over the new connection", async () => {
  const beats = [0, 0];
  const server = await fakeServer(async (connection, index) => {
    await connection.hello();
    for (let frame = await connection.next(); frame; frame = await connection.next()) {
      beats[index]!++;
      connection.reply(frame, {});
    }
  });
  const client = await connected(server.url, { heartbeatInterval: 30 });
  await until(() => beats[0]! > 0, "a heartbeat over the old connection");
  await client.resume();
  const [old] = beats;
  await until(() => beats[1]! > 1, "heartbeats over the new connection");
  assert.equal(beats[0], old);
});

test("TASK-10: progress is asked for again after a resume", async () => {
  const env = new Environment();
  env.template("steps").run(async function* (_, ctx) {
    yield "go";
    ctx.progress("grading");
    yield 1;
  });
  const seen: string[] = [];
  const client = await connected((await served(env)).url, { onProgress: (message) => seen.push(message) });
  const task = await client.start("steps");
  await client.resume();
  await task.grade();
  assert.deepEqual(seen, ["grading"]);
});
