/**
 * What was measured on the other implementation, probe by probe, and what a compatible server does there: the same where
 * it works, what the contract says where it fails.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { DROPS, Daemon, NO_TASK, noticed, freePort, served, stage, until, work } from "./_testing.ts";
import { Environment } from "./environment.ts";
import { serve } from "./serve.ts";

const HELLO = { id: 1, method: "hello" };

/** An environment with one daemon, `echo`. */
async function withDaemon(): Promise<{
  daemon: Daemon;
  connect: Awaited<ReturnType<typeof served>>["connect"];
}> {
  const daemon = await Daemon.listen();
  const { connect } = await served(new Environment({ capabilities: [daemon.capability()] }));
  return { daemon, connect };
}

function open(capability: unknown): object {
  return { id: 1, method: "tunnel.open", params: { capability } };
}

test("FRAME-9: hello without jsonrpc, with any protocol_version: accepted, its own version named in an extra key", async () => {
  const { connect } = await stage();
  const client = await connect();
  client.send({ id: 1, method: "hello", params: { protocol_version: "99.9" } });
  expect(await client.next()).toMatchObject({ jsonrpc: "2.0", result: { protocol: "envport/1" } });
});

test("FRAME-9: ids that are strings or 0 come back", async () => {
  const { connect } = await stage();
  const client = await connect();
  client.send({ id: 0, method: "hello" }, { id: "x", method: "hello" });
  expect([await client.next(), await client.next()].map(({ id }) => id)).toEqual([0, "x"]);
});

test("FRAME-8: an id that is null or absent: executed, no reply", async () => {
  const { connect, events } = await stage();
  const client = await connect();
  client.send({ method: "tasks.start", params: work(1) }, { id: null, method: "tasks.grade" });
  await client.result("tasks.list");
  expect(client.frames).toEqual([]);
  expect(events).toContain("end 1");
});

test("SESS-1: tasks.start before hello works", async () => {
  const { connect } = await stage();
  expect(await (await connect()).result("tasks.start", work(1))).toEqual({ prompt: "go:1" });
});

test("SESS-4: CRLF, and a last frame without newline before an EOF, are both accepted", async () => {
  const { connect } = await stage();
  const client = await connect();
  client.socket.end(`${JSON.stringify(HELLO)}\r\n${JSON.stringify({ id: 2, method: "hello" })}`);
  await client.ended;
  expect(client.frames.map(({ id }) => id)).toEqual([1, 2]);
});

test("FRAME-6: malformed lines get an error frame and the session goes on; HTTP gets a 400", async () => {
  const { connect } = await stage();
  const client = await connect();
  const session = await client.hello();
  const lines: [line: string | Buffer, code: number | undefined][] = [
    ["{malformed", -32700],
    ["", undefined],
    ["[1]", -32600],
    ["1", -32600],
    ['[{"id":1,"method":"hello"}]', -32600],
    [Buffer.from([0xff, 0xfe]), -32700],
  ];
  for (const [line, code] of lines) {
    client.send(line);
    if (code !== undefined) expect(await client.next()).toMatchObject({ id: null, error: { code } });
    expect(await client.hello()).toBe(session);
  }
  const http = await connect();
  http.socket.write("POST / HTTP/1.1\r\n\r\n");
  await http.ended;
  expect(String(http.received)).toMatch(/^HTTP\/1\.1 400/);
  const half = await connect();
  half.socket.end('{"id":1,"met');
  expect(await half.next()).toMatchObject({ id: null, error: { code: -32700 } });
});

test("FRAME-4: frames of 65,000 and 70,000 bytes pass, both ways", async () => {
  const env = new Environment();
  env.template("t", { args: z.object({ text: z.string() }) }).run(async function* ({ text }) {
    yield text;
  });
  const { connect } = await served(env);
  const client = await connect();
  await client.hello();
  for (const bytes of [65_000, 70_000, 1_000_000]) {
    const text = "x".repeat(bytes);
    expect(await client.result("tasks.start", { id: "t", args: { text } })).toEqual({ prompt: text });
  }
});

test("ERR-2: an unknown method is -32601", async () => {
  const { connect } = await stage();
  expect(await (await connect()).error("nope")).toEqual({ code: -32601, message: "method not found: nope" });
});

test("ERR-2: an unknown task is -32602", async () => {
  const { connect } = await stage();
  expect(await (await connect()).error("tasks.start", { id: "zzz" })).toMatchObject({
    code: -32602,
    message: "unknown task: 'zzz'",
  });
});

test("TASK-2: args that are no object, and an id that is no string, are -32602", async () => {
  const { connect } = await stage();
  const client = await connect();
  for (const params of [{ id: "work", args: 5 }, { id: "work", args: [] }, { id: 5 }, { id: null }]) {
    expect(await client.error("tasks.start", params)).toMatchObject({ code: -32602 });
  }
});

test("TASK-3: an unknown arg is -32602 with its path, where the other one says -32000", async () => {
  const { connect, env } = await stage();
  env.template("t").run(async function* () {
    yield "p";
  });
  expect(await (await connect()).error("tasks.start", { id: "t", args: { zz: 1 } })).toMatchObject({
    code: -32602,
    message: expect.stringMatching(/task 't': .*zz/),
    data: { type: "invalid-args", issues: [{ path: ["zz"] }] },
  });
});

test("FRAME-7: params that are an array are -32602, and leak nothing of the implementation", async () => {
  const { connect } = await stage();
  const client = await connect();
  await client.hello();
  expect(await client.error("tasks.start", [])).toEqual({
    code: -32602,
    message: "tasks.start: 'params' must be an object",
  });
});

test('TASK-3: "7" becomes 7 where a number is wanted; "x" is refused with its path, not passed through', async () => {
  const env = new Environment();
  env.template("t", { args: z.object({ n: z.int() }) }).run(async function* ({ n }) {
    yield { prompt: typeof n, n };
  });
  const { connect } = await served(env);
  const client = await connect();
  expect(await client.result("tasks.start", { id: "t", args: { n: "7" } })).toEqual({
    prompt: "number",
    n: 7,
  });
  expect(await client.error("tasks.start", { id: "t", args: { n: "x" } })).toMatchObject({
    code: -32602,
    data: { issues: [{ path: ["n"] }] },
  });
});

test("TASK-7: a generator without a yield is -32000 with a real sentence", async () => {
  const { connect, env } = await stage();
  env.template("t").run(async function* () {});
  expect(await (await connect()).error("tasks.start", { id: "t" })).toMatchObject({
    code: -32000,
    message: "task 't' yielded no prompt",
  });
});

test("TASK-5: a score of NaN is refused, never written", async () => {
  const { connect, env } = await stage();
  env.template("t").run(async function* () {
    yield "p";
    yield NaN;
  });
  const client = await connect();
  await client.result("tasks.start", { id: "t" });
  expect(await client.error("tasks.grade")).toMatchObject({
    code: -32000,
    message: expect.stringContaining("finite"),
  });
  expect(String(client.received)).not.toMatch(/:NaN|:null/);
});

test("SESS-6: a second grade with nothing parked is refused, or answered from the stored result", async () => {
  const { connect } = await stage();
  const [plain, replaying] = await Promise.all([connect(), connect()]);
  await replaying.hello({ replay: true });
  for (const client of [plain, replaying]) {
    await client.result("tasks.start", work(1));
    await client.result("tasks.grade");
  }
  expect(await plain.error("tasks.grade")).toEqual(NO_TASK);
  expect(await replaying.result("tasks.grade")).toEqual({ score: 1.5 });
});

test("SESS-6: a second grade while exactly one other session is parked does not grade that one", async () => {
  const { connect, park, events } = await stage();
  const a = await connect();
  await a.result("tasks.start", work(1));
  await park(2);
  expect(await a.result("tasks.grade", { answer: "A" })).toEqual({ score: 1.5 });
  expect(await a.error("tasks.grade", { answer: "A" })).toEqual(NO_TASK);
  expect(await (await connect()).result("tasks.grade", { answer: "B" })).toEqual({ score: 2.5 });
  expect(events.filter((event) => event.startsWith("grade"))).toEqual(["grade 1", "grade 2"]);
});

test.each(DROPS)(
  "SESS-6: a blind retry from a fresh connection after the reply was lost (%s), one other parked: never the other's score",
  async (_, drop) => {
    const { connect, park, events, gates } = await stage();
    const a = await connect();
    await a.result("tasks.start", work(1, "grade"));
    await park(2);
    a.request("tasks.grade", { answer: "A" });
    await until(() => events.includes("grade 1"));
    drop(a);
    await noticed();
    gates.get(1)!.open();
    await until(() => events.includes("end 1"));
    const retry = await connect();
    const { error } = await retry.call("tasks.grade", { answer: "A" });
    expect(error).toMatchObject({ code: -32600, data: { type: "ambiguous" } });
    expect(error.data.session_ids).toHaveLength(2);
    expect(events).not.toContain("grade 2");
  },
);

test.each(DROPS)(
  "SESS-6: the connection is lost during the grade (%s): the score is there on resume",
  async (_, drop) => {
    const { connect, events, gates, server } = await stage();
    const a = await connect();
    const session = await a.hello();
    await a.result("tasks.start", work(1, "grade"));
    a.request("tasks.grade", { answer: "A" });
    await until(() => events.includes("grade 1"));
    drop(a);
    await noticed();
    gates.get(1)!.open();
    await until(() => server.stats().sessions.live === 0);
    const b = await connect();
    await b.hello({ session_id: session });
    expect(await b.result("tasks.grade")).toEqual({ score: 1.5 });
  },
);

test("SESS-4: a grade of a parked start that is still running waits for it", async () => {
  const { connect, events, gates } = await stage();
  const a = await connect();
  a.request("tasks.start", work(1, "start"));
  await until(() => events.includes("start 1"));
  a.destroy();
  const b = await connect();
  const grade = b.request("tasks.grade");
  await b.call("ping");
  gates.get(1)!.open();
  expect(await b.reply(grade)).toMatchObject({ result: { score: 1.5 } });
});

test("TASK-8: a tasks.cancel behind a slow start aborts it at once; a disconnect is noticed at once", async () => {
  const { connect, events, server } = await stage();
  const client = await connect();
  const start = client.request("tasks.start", work(1, "start"));
  await until(() => events.includes("start 1"));
  expect(await client.result("tasks.cancel")).toEqual({ cancelled: true });
  expect(await client.reply(start)).toMatchObject({ error: { data: { type: "cancelled" } } });
  client.request("tasks.start", work(2, "start"));
  await until(() => events.includes("start 2"));
  client.reset();
  await until(() => server.stats().connections === 0);
  expect(server.stats().sessions).toEqual({ live: 0, parked: 1 });
});

test("SESS-7: a parked session has an expiry and a cap, and is counted", async () => {
  const { connect, park, server, log } = await stage({ parkTtl: 300, maxParked: 1 });
  await park(1);
  const client = await connect();
  await client.result("tasks.start", work(2));
  client.destroy();
  await until(() => log.complaints.length > 0, "one too many");
  expect(server.stats().sessions.parked).toBe(1);
  await until(() => server.stats().sessions.parked === 0);
});

test("SESS-8: a resume while the old connection is still live is refused, a takeover is not", async () => {
  const { connect } = await stage();
  const [old, fresh] = await Promise.all([connect(), connect()]);
  const session = await old.hello();
  await old.result("tasks.start", work(1));
  expect(await fresh.error("hello", { session_id: session })).toMatchObject({
    code: -32600,
    message: `session '${session}' has a live connection`,
  });
  expect(await fresh.hello({ session_id: session, takeover: true })).toBe(session);
});

test("SESS-3: a session id has 128 bits behind the same prefix", async () => {
  const { connect } = await stage();
  expect(await (await connect()).hello()).toMatch(/^sess-[0-9a-f]{32}$/);
});

test("CONN-3: fifty idle connections without a preface are closed", async () => {
  const { connect, server } = await served(undefined, { prefaceTimeout: 200 });
  const clients = await Promise.all(Array.from({ length: 50 }, () => connect()));
  await Promise.all(clients.map(({ ended }) => ended));
  for (const client of clients) client.destroy();
  await until(() => server.stats().connections === 0);
});

test("CONN-6: the default is loopback; 0.0.0.0 needs to be asked for twice", async () => {
  const { server } = await served();
  expect(server.url).toMatch(/^tcp:\/\/127\.0\.0\.1:/);
  await expect(serve(new Environment(), { host: "0.0.0.0" })).rejects.toThrow("insecure: true");
});

test("FRAME-3: bytes right behind tunnel.open are preserved", async () => {
  const { connect, daemon } = await withDaemon();
  const client = await connect();
  client.socket.write(`${JSON.stringify(open("echo"))}\nSSH-2.0-client\r\n`);
  const connection = await daemon.connection();
  await until(() => String(connection.received) === "SSH-2.0-client\r\n");
});

test("TUN-3: a half-close is passed on", async () => {
  const { connect, daemon } = await withDaemon();
  const client = await connect();
  client.socket.end(`${JSON.stringify(open("echo"))}\nquestion`);
  const connection = await daemon.connection();
  expect(await connection.ended).toBe("end");
  connection.socket.end("answer");
  expect(await client.ended).toBe("end");
  expect(String(client.stream)).toBe("answer");
});

test("TUN-2: a dead backend is -32000, in words that name no address", async () => {
  const port = await freePort();
  const capability = { name: "db", protocol: "tcp/1", url: `tcp://127.0.0.1:${String(port)}`, params: {} };
  const { connect } = await served(new Environment({ capabilities: [capability] }));
  const client = await connect();
  client.send(open("db"));
  const { error } = await client.next();
  expect(error).toMatchObject({ code: -32000, message: "cannot reach capability 'db': ECONNREFUSED" });
});

test("TUN-2: an unknown capability is -32000", async () => {
  const { connect } = await withDaemon();
  const client = await connect();
  client.send(open("zzz"));
  expect((await client.next())["error"]).toMatchObject({
    code: -32000,
    message: "unknown capability: 'zzz'",
  });
});

test("TUN-2: a capability without a port, and a name that is no string, are -32602", async () => {
  const capability = {
    name: "portless",
    protocol: "mcp/2025-11-25",
    url: "https://example.test/mcp",
    params: {},
  };
  const { connect } = await served(new Environment({ capabilities: [capability] }));
  for (const name of ["portless", 5, null, ["portless"], undefined]) {
    const client = await connect();
    client.send(open(name));
    expect((await client.next())["error"]).toMatchObject({ code: -32602 });
  }
});

test("TUN-2: a tunnel.open without an id that fails is an EOF", async () => {
  const { connect } = await withDaemon();
  const client = await connect();
  client.send({ method: "tunnel.open", params: { capability: "zzz" } });
  expect(await client.ended).toBe("end");
  expect(client.received.length).toBe(0);
});

test("CONN-1: tunnel.open in the middle of a session is -32601", async () => {
  const { connect } = await withDaemon();
  const client = await connect();
  await client.hello();
  expect(await client.error("tunnel.open", { capability: "echo" })).toMatchObject({ code: -32601 });
});

test("SESS-4: bye is answered, then EOF", async () => {
  const { connect } = await stage();
  const client = await connect();
  expect(await client.result("bye")).toEqual({ goodbye: true });
  expect(await client.ended).toBe("end");
  expect(String(client.received)).toBe('{"jsonrpc":"2.0","id":1,"result":{"goodbye":true}}\n');
});
