import { describe, expect, test } from "vitest";
import { gate, passThrough, served, trackedEnvironment, until } from "./_testing.ts";
import { Environment } from "./environment.ts";

const any = { args: passThrough() };

describe("frames inside a session", () => {
  test("FRAME-5: a reply over the limit is never sent; its caller is told size and limit, and goes on", async () => {
    const env = new Environment();
    env.template("large", any).run(async function* ({ prompt, text }) {
      yield "x".repeat(prompt as number);
      yield { score: 1, text: "y".repeat(text as number) };
    });
    const { connect } = await served(env, { maxFrameBytes: 1_000 });
    const client = await connect();
    const error = await client.error("tasks.start", { id: "large", args: { prompt: 2_000 } });
    expect(error).toMatchObject({ code: -32603, data: { type: "frame-too-large", limit: 1_000 } });
    expect(error["message"]).toMatch(/20\d\d bytes .* limit is 1000 bytes/);
    expect(await client.hello()).toMatch(/^sess-/);

    await client.result("tasks.start", { id: "large", args: { prompt: 900, text: 2_000 } });
    expect(await client.error("tasks.grade")).toMatchObject({ code: -32603 });
    expect(await client.error("tasks.grade")).toMatchObject({ code: -32600, message: "no task in progress" });
  });

  test("FRAME-5: a prompt that cannot be sent cancels its task, and the next start waits for the clean-up", async () => {
    const track = trackedEnvironment();
    const cleanUp = gate();
    track.env.template("large").run(async function* () {
      try {
        yield "x".repeat(2_000);
      } finally {
        track.events.push("cleaning up");
        await cleanUp.opened;
        track.events.push("clean");
      }
    });
    const { connect } = await served(track.env, { maxFrameBytes: 1_000 });
    const client = await connect();
    const session = await client.hello();
    const first = client.request("tasks.start", { id: "large" });
    const second = client.request("tasks.start", { id: "work", args: { k: 1 } });
    await until(() => track.events.includes("cleaning up"));
    await client.call("ping");
    expect(track.events).toEqual(["cleaning up"]);
    cleanUp.open();
    expect(await client.reply(first)).toMatchObject({ error: { code: -32603 } });
    expect(await client.reply(second)).toMatchObject({ result: { prompt: "go:1" } });
    expect(track.events).toEqual(["cleaning up", "clean", `hook ${session}`, "start 1"]);

    await client.error("tasks.start", { id: "large" });
    expect(await client.error("tasks.grade")).toMatchObject({ message: "no task in progress" });
  });

  test("FRAME-5: an unsendable prompt of a start that nobody is answered leaves the task alone", async () => {
    const env = new Environment();
    env.template("large").run(async function* () {
      yield "x".repeat(2_000);
      yield 1;
    });
    const { connect } = await served(env, { maxFrameBytes: 1_000 });
    const client = await connect();
    client.send({ method: "tasks.start", params: { id: "large" } });
    expect(await client.result("tasks.grade")).toEqual({ score: 1 });
  });

  test.each([
    ["is not JSON", "{nope}"],
    ["is not UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    [
      "is nested deeper than 512",
      `{"id":1,"method":"hello","params":{"a":${"[".repeat(511)}${"]".repeat(511)}}}`,
    ],
    ["holds a raw control character", '{"id":"\t","method":"hello"}'],
    ["holds NaN", '{"id":NaN,"method":"hello"}'],
  ])("FRAME-6: a line that %s gets -32700 with id null, and the session goes on", async (_, line) => {
    const { connect } = await served();
    const client = await connect();
    const session = await client.hello();
    for (let round = 0; round < 3; round++) {
      client.send(line, line, "", { id: round, method: "hello" });
      expect(await client.next()).toMatchObject({ id: null, error: { code: -32700 } });
      expect(await client.next()).toMatchObject({ id: null, error: { code: -32700 } });
      expect(await client.next()).toMatchObject({ id: round, result: { session_id: session } });
    }
  });

  test("FRAME-6: the third such line in a row closes the connection, and the task is parked", async () => {
    const { connect, server } = await served(trackedEnvironment().env);
    const client = await connect();
    await client.result("tasks.start", { id: "work", args: { k: 1 } });
    client.send("1x", "", "2x", "\r", "3x", { id: 9, method: "tasks.cancel" });
    for (let line = 0; line < 3; line++)
      expect(await client.next()).toMatchObject({ error: { code: -32700 } });
    expect(await client.ended).toBe("end");
    expect(client.frames).toEqual([]);
    client.destroy();
    await until(() => server.stats().sessions.parked === 1);
  });

  test.each([
    ["a number", "42", null, -32600],
    ["a string", '"hello"', null, -32600],
    ["null", "null", null, -32600],
    ["a batch", '[{"id":1,"method":"hello"}]', null, -32600],
    ["a missing method", '{"id":1}', 1, -32600],
    ["a missing method, without an id", "{}", null, -32600],
    ["a method that is no string", '{"id":"a","method":{}}', "a", -32600],
    ["an id that is a boolean", '{"id":true,"method":"hello"}', null, -32600],
    ["an id that is an object", '{"id":{"a":1},"method":"hello"}', null, -32600],
    ["an id that is an array", '{"id":[1],"method":"hello"}', null, -32600],
    ["an id that is a fraction", '{"id":1.5,"method":"hello"}', null, -32600],
    ["an id over 2^53-1", '{"id":9007199254740993,"method":"hello"}', null, -32600],
    ["an id that is infinite", '{"id":1e400,"method":"hello"}', null, -32600],
    ["params that are an array", '{"id":1,"method":"hello","params":[1]}', 1, -32602],
    ["params that are a string", '{"id":1,"method":"hello","params":"x"}', 1, -32602],
    ["params that are a number", '{"id":1,"method":"hello","params":0}', 1, -32602],
  ])("FRAME-7: %s is an invalid request, and the session goes on", async (_, line, id, code) => {
    const { connect } = await served();
    const client = await connect();
    const session = await client.hello();
    for (let round = 0; round < 4; round++) client.send(line);
    for (let round = 0; round < 4; round++)
      expect(await client.next()).toMatchObject({ id, error: { code } });
    expect(await client.hello()).toBe(session);
  });

  test("FRAME-7: params that are null or absent are none", async () => {
    const { connect } = await served();
    const client = await connect();
    client.send({ id: 1, method: "hello", params: null }, { id: 2, method: "hello" });
    expect(await client.next()).toMatchObject({ id: 1, result: {} });
    expect(await client.next()).toMatchObject({ id: 2, result: {} });
  });

  test("FRAME-8: a request without an id, or with null, is executed and never answered, errors included", async () => {
    const track = trackedEnvironment();
    const { connect } = await served(track.env);
    const client = await connect();
    client.send({ method: "tasks.start", params: { id: "work", args: { k: 1 } } });
    client.send({ id: null, method: "tasks.grade", params: { answer: "a" } });
    client.send(
      { method: "nope" },
      { method: "hello", params: [] },
      { id: null, method: "tasks.start", params: { id: 5 } },
    );
    client.send({ method: "tasks.start", params: { id: "throws" } });
    await client.result("tasks.list");
    expect(client.frames).toEqual([]);
    const session = await client.hello();
    expect(track.events).toEqual([
      "start 1",
      "grade 1",
      "end 1",
      `hook ${session}`,
      "throws",
      `hook ${session}`,
    ]);
  });

  test("FRAME-9: ids come back as they were sent, and jsonrpc is on every reply", async () => {
    const { connect } = await served();
    const client = await connect();
    const ids = ["", "a", "0", "\ud800", "ü€😀", 0, 1, -1, 2 ** 53 - 1, -(2 ** 53 - 1)];
    for (const id of ids) {
      client.send({ id, method: "hello" }, { jsonrpc: "1.0", id, method: "nope" });
      for (const member of ["result", "error"]) {
        const frame = await client.next();
        expect(frame).toMatchObject({ jsonrpc: "2.0", id });
        expect(frame).toHaveProperty(member);
      }
    }
  });

  test("FRAME-10: a number that JSON cannot say is refused with its path, never sent as null", async () => {
    const env = new Environment();
    env.template("prompt", any).run(async function* () {
      yield { prompt: "p", bindings: [{ at: { ratio: 0 / 0 } }] };
    });
    env.template("grade", any).run(async function* () {
      yield "p";
      yield { score: 1, parts: { left: [1, -Infinity] } };
    });
    const { connect, log } = await served(env);
    const client = await connect();
    const prompt = await client.error("tasks.start", { id: "prompt" });
    expect(prompt).toMatchObject({ code: -32000, message: expect.stringContaining("bindings.0.at.ratio") });
    await client.result("tasks.start", { id: "grade" });
    const grade = await client.error("tasks.grade");
    expect(grade).toMatchObject({ code: -32000, message: expect.stringContaining("parts.left.1") });
    expect(await client.error("tasks.grade")).toMatchObject({ message: "no task in progress" });
    expect(log.complaints).toContain("tasks.start failed");
  });

  test("FRAME-10: __proto__ and constructor are data wherever they stand, and change no prototype", async () => {
    const env = new Environment();
    let seen: Record<string, unknown> = {};
    env.template("t", any).run(async function* (args, ctx) {
      seen = args;
      yield "p";
      yield { score: 1, grade: ctx.grade };
    });
    const { connect } = await served(env);
    const client = await connect();
    const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    client.send(`{"id":1,"method":"hello","params":${evil},"__proto__":{"polluted":1}}`);
    expect(await client.next()).toMatchObject({ id: 1, result: {} });
    client.send('{"id":2,"method":"hello","params":{"__proto__":{"session_id":"sess-other"}}}');
    expect(await client.next()).toMatchObject({ id: 2, result: {} });
    client.send('{"id":3,"__proto__":{"method":"hello"}}');
    expect(await client.next()).toMatchObject({ id: 3, error: { code: -32600 } });
    client.send(`{"id":4,"method":"tasks.start","params":{"id":"t","args":${evil}}}`);
    expect(await client.next()).toMatchObject({ id: 4, result: { prompt: "p" } });
    expect(Object.keys(seen)).toEqual(["__proto__", "constructor"]);
    client.send(`{"id":5,"method":"tasks.grade","params":${evil}}`);
    const { result } = await client.next();
    expect(Object.keys(result.grade)).toEqual(["__proto__", "constructor"]);
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", ""]) {
      expect(await client.error(name)).toMatchObject({ code: -32601 });
      expect(await client.error("tasks.start", { id: name })).toMatchObject({ code: -32602 });
    }
    expect(({} as Record<string, unknown>)["polluted"]).toBe(undefined);
  });

  test("FRAME-11: output is compact, its keys in the order jsonrpc, id, result or error", async () => {
    const { connect } = await served();
    const client = await connect();
    client.send({ id: 1, method: "ping" }, { id: "b", method: "nope" });
    await client.next();
    await client.next();
    expect(String(client.received)).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{}}\n' +
        '{"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"method not found: nope"}}\n',
    );
  });
});

describe("hello", () => {
  test("SESS-1: hello introduces the environment and its bindings, at any time and again", async () => {
    const capability = {
      name: "shell",
      protocol: "ssh/2",
      url: "ssh://agent@127.0.0.1:22",
      params: { user: "agent" },
    };
    const env = new Environment({ name: "coder", version: "2.1.0" });
    env.addCapability({ ...capability, dial: { path: "/run/secret.sock" } });
    const { connect } = await served(env);
    const client = await connect();
    const hello = await client.result("hello");
    expect(hello).toMatchObject({ env: { name: "coder", version: "2.1.0" }, bindings: [capability] });
    expect(JSON.stringify(hello)).not.toContain("secret.sock");
    expect(await client.hello({ session_id: hello["session_id"] })).toBe(hello["session_id"]);
    expect(await client.hello({ session_id: null, protocol_version: "9" })).toBe(hello["session_id"]);
  });

  test("SESS-1: a session exists from the first frame, hello or not", async () => {
    const track = trackedEnvironment();
    const { connect, server } = await served(track.env);
    const client = await connect();
    expect(await client.result("tasks.start", { id: "work", args: { k: 1 } })).toEqual({ prompt: "go:1" });
    expect(server.stats().sessions).toEqual({ live: 1, parked: 0 });
    expect(await client.result("tasks.grade")).toEqual({ score: 1.5 });
    expect(track.events.at(-1)).toBe(`hook ${await client.hello()}`);
  });

  test("SESS-9: hello tells the protocol and what the server can do", async () => {
    const { connect } = await served();
    const hello = await (await connect()).result("hello");
    expect(hello).toMatchObject({
      protocol: "envport/1",
      capabilities: { cancel: true, ping: true, progress: true, replay: true, takeover: true },
    });
  });
});

describe("the order of requests", () => {
  test("SESS-11: requests of one session run in order, also when they are pipelined", async () => {
    const track = trackedEnvironment();
    const { connect } = await served(track.env);
    const client = await connect();
    client.send(
      { id: 1, method: "tasks.start", params: { id: "work", args: { k: 1 } } },
      { id: 2, method: "tasks.grade" },
      { id: 3, method: "tasks.start", params: { id: "work", args: { k: 2 } } },
      { id: 4, method: "tasks.list" },
      { id: 5, method: "tasks.grade" },
      { id: 6, method: "bye" },
    );
    const frames = await Promise.all([1, 2, 3, 4, 5, 6].map(() => client.next()));
    expect(frames.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(frames[1]!["result"]).toEqual({ score: 1.5 });
    expect(frames[4]!["result"]).toEqual({ score: 2.5 });
    expect(frames[5]!["result"]).toEqual({ goodbye: true });
  });

  test.each(["start", "grade"])(
    "SESS-11: ping, cancel and a hello for the own session are answered while a %s is running; the rest waits",
    async (hold) => {
      const track = trackedEnvironment();
      const { connect } = await served(track.env);
      const client = await connect();
      const session = await client.hello();
      const start = client.request("tasks.start", { id: "work", args: { k: 1, hold } });
      if (hold === "grade") await client.reply(start);
      const running = hold === "grade" ? client.request("tasks.grade") : start;
      await until(() => track.events.includes(`${hold} 1`));
      const list = client.request("tasks.list");
      const bye = client.request("bye");
      expect(await client.call("ping")).toMatchObject({ result: {} });
      expect(await client.hello()).toBe(session);
      expect(await client.hello({ session_id: session, replay: true })).toBe(session);
      expect(client.frames).toEqual([]);
      client.send({ id: "cancel", method: "tasks.cancel" });
      expect(await client.next()).toMatchObject({ id: running, error: { data: { type: "cancelled" } } });
      expect(await client.next()).toMatchObject({ id: list });
      expect(await client.next()).toMatchObject({ id: bye });
      expect(await client.next()).toMatchObject({ id: "cancel", result: { cancelled: true } });
      expect(track.events.at(-1)).toBe(`hook ${session}`);
      expect(await client.ended).toBe("end");
    },
  );

  test("SESS-11: cancel also ends what waits for its turn, and nothing that comes after it", async () => {
    const track = trackedEnvironment();
    const { connect } = await served(track.env);
    const client = await connect();
    client.send(
      { id: 1, method: "tasks.start", params: { id: "work", args: { k: 1, hold: "start" } } },
      { id: 2, method: "tasks.start", params: { id: "work", args: { k: 2 } } },
      { id: 3, method: "tasks.grade" },
      { id: 4, method: "tasks.cancel" },
      { id: 5, method: "tasks.start", params: { id: "work", args: { k: 5 } } },
      { id: 6, method: "tasks.grade" },
    );
    const frames = await Promise.all([1, 2, 3, 4, 5, 6].map(() => client.next()));
    expect(frames.map(({ id, error }) => [id, error?.data?.type])).toEqual([
      [1, "cancelled"],
      [2, "cancelled"],
      [3, "cancelled"],
      [4, undefined],
      [5, undefined],
      [6, undefined],
    ]);
    expect(frames[5]!["result"]).toEqual({ score: 5.5 });
    expect(track.events).not.toContain("start 2");
  });

  test("SESS-11: a cancel behind a hello cancels the task of the session that the hello resumes", async () => {
    const track = trackedEnvironment();
    const { connect, server } = await served(track.env);
    const first = await connect();
    const parked = await first.hello();
    await first.result("tasks.start", { id: "work", args: { k: 1 } });
    first.destroy();
    await until(() => server.stats().sessions.parked === 1);
    const second = await connect();
    const own = await second.hello();
    await second.result("tasks.start", { id: "work", args: { k: 2 } });
    second.send(
      { id: "h", method: "hello", params: { session_id: parked } },
      { id: "c", method: "tasks.cancel" },
      { id: "g", method: "tasks.grade" },
    );
    expect(await second.next()).toMatchObject({ id: "h", result: { session_id: parked } });
    expect(await second.next()).toMatchObject({ id: "c", result: { cancelled: true } });
    // What is left is the task of the own session, parked under its id.
    expect(await second.next()).toMatchObject({ id: "g", result: { score: 2.5 } });
    expect(track.events.slice(2)).toEqual(["end 1", `hook ${parked}`, "grade 2", "end 2", `hook ${own}`]);
  });

  test("bye ends the session: what was sent behind it is not executed, and its id means nothing any more", async () => {
    const track = trackedEnvironment();
    const { connect, server } = await served(track.env);
    const client = await connect();
    const session = await client.hello({ replay: true });
    await client.result("tasks.start", { id: "work", args: { k: 1 } });
    await client.result("tasks.grade");
    client.send(
      { id: "s", method: "tasks.start", params: { id: "work", args: { k: 2 } } },
      { id: "b", method: "bye" },
      { id: "x", method: "tasks.start", params: { id: "work", args: { k: 3 } } },
    );
    expect(await client.next()).toMatchObject({ id: "s", result: { prompt: "go:2" } });
    expect(await client.next()).toMatchObject({ id: "b", result: { goodbye: true } });
    expect(await client.next()).toMatchObject({ id: "x", error: { data: { type: "cancelled" } } });
    expect(await client.ended).toBe("end");
    client.destroy();
    await until(() => server.stats().connections === 0);
    expect(server.stats().sessions).toEqual({ live: 0, parked: 0 });
    expect(track.events.slice(-2)).toEqual(["end 2", `hook ${session}`]);
    const other = await connect();
    expect(await other.error("hello", { session_id: session })).toMatchObject({
      message: `unknown session: '${session}'`,
    });
  });
});

describe("ping and progress", () => {
  test("TASK-10: ping is answered with an empty object", async () => {
    const { connect } = await served();
    expect(await (await connect()).call("ping")).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  test("TASK-10: progress reaches only a client that asked for it, before the reply", async () => {
    const env = new Environment();
    let late: (() => void) | undefined;
    env.template("t").run(async function* (_, ctx) {
      ctx.progress("half", 0.5);
      ctx.progress("odd", NaN);
      yield "p";
      ctx.progress("grading");
      late = () => ctx.progress("too late");
      yield 1;
    });
    const { connect } = await served(env);
    const [asked, plain] = await Promise.all([connect(), connect()]);
    await asked.hello({ progress: true });
    asked.request("tasks.start", { id: "t" });
    expect(await asked.next()).toEqual({
      jsonrpc: "2.0",
      method: "tasks.progress",
      params: { message: "half", fraction: 0.5 },
    });
    expect(await asked.next()).toMatchObject({ params: { message: "odd" } });
    expect(await asked.next()).toMatchObject({ result: { prompt: "p" } });
    asked.request("tasks.grade");
    expect(await asked.next()).toEqual({
      jsonrpc: "2.0",
      method: "tasks.progress",
      params: { message: "grading" },
    });
    expect(await asked.next()).toMatchObject({ result: { score: 1 } });
    late!();
    await asked.call("ping");
    expect(asked.frames).toEqual([]);

    plain.request("tasks.start", { id: "t" });
    expect(await plain.next()).toMatchObject({ id: 1, result: { prompt: "p" } });
  });
});
