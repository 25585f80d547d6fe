import { Environment } from "@envport/server";
import { EnvportError, ProtocolError } from "@envport/wire";
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { FakeConnection } from "./_testing.ts";
import {
  HELLO,
  OLD_HELLO,
  codeOf,
  connected,
  fakeServer,
  noted,
  quiz,
  rejection,
  served,
  until,
} from "./_testing.ts";
import type { EvaluationResult, Task, TaskInfo } from "./mod.ts";

/** An environment whose task takes its time until it is cancelled. */
function slow(part: "start" | "grade"): { env: Environment; log: string[] } {
  const log: string[] = [];
  const env = new Environment({ name: "slow" });
  const wait = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  env.template("slow").run(async function* (_, { signal }) {
    log.push("start");
    try {
      if (part === "start") await wait(signal);
      const answer = yield "Which?";
      log.push(`grade ${answer}`);
      if (part === "grade") await wait(signal);
      yield 1;
    } finally {
      await sleep(20);
      log.push("end");
    }
  });
  env.template("other").run(async function* () {
    yield (yield "Other?") === "right" ? 1 : 0;
  });
  return { env, log };
}

test("TASK-1: tasks() lists what there is, and makes up for what an old server leaves out", async () => {
  const env = new Environment();
  env.template("add", { description: "Adds", args: z.object({ a: z.number() }) }).run(async function* () {
    yield yield "?";
  });
  const client = await connected((await served(env)).url);
  const [task] = await client.tasks();
  assert.deepEqual([task!.id, task!.description, task!.args["type"]], ["add", "Adds", "object"]);

  const old = await fakeServer(async (connection) => {
    await connection.hello(OLD_HELLO);
    await connection.serve({
      "tasks.list": { tasks: [{ id: "a" }, { id: "b", description: "B", extra: 1 }] },
    });
  });
  assert.deepEqual(await (await connected(old.url)).tasks(), [
    { id: "a", description: "", args: {} },
    { id: "b", description: "B", args: {}, extra: 1 },
  ]);
});

test.each([{}, { tasks: null }, { tasks: {} }, { tasks: ["a"] }, { tasks: [{ description: "no id" }] }])(
  "tasks() says that %j is no list of tasks",
  async (result) => {
    const server = await fakeServer(async (connection) => {
      await connection.hello();
      await connection.serve({ "tasks.list": result });
    });
    assert.equal((await rejection((await connected(server.url)).tasks())).code, "protocol-violation");
  },
);

test("TASK-2: start() gives the prompt and the whole frame", async () => {
  const env = new Environment();
  env.template("text").run(async function* () {
    yield yield "hello";
  });
  env.template("rich").run(async function* () {
    yield yield { prompt: [{ role: "user" }], bindings: ["shell"] };
  });
  const client = await connected((await served(env)).url);
  const text = await client.start("text");
  assert.deepEqual(
    [text.id, text.prompt, text.promptText, text.frame],
    ["text", "hello", "hello", { prompt: "hello" }],
  );
  const rich = await client.start("rich");
  assert.deepEqual(rich.frame, { prompt: [{ role: "user" }], bindings: ["shell"] });
  assert.equal(rich.promptText, '[{"role":"user"}]');
});

test("promptText is text also where a server sends no prompt", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    await connection.serve();
  });
  assert.equal((await (await connected(server.url)).start("a")).promptText, "null");
});

test("TASK-4: answers and further members of a grade arrive as they are", async () => {
  const received: unknown[] = [];
  const env = new Environment();
  env.template("any").run(async function* (_, ctx) {
    received.push(yield "?");
    received.push(ctx.grade);
    yield { score: 0.5, info: { a: 1 } };
  });
  const client = await connected((await served(env)).url);
  for (const answer of ["text", { a: [1] }, null, undefined]) {
    const task = await client.start("any");
    assert.deepEqual(await task.grade(answer, { params: { hint: 1 } }), { score: 0.5, info: { a: 1 } });
  }
  assert.deepEqual(received, [
    "text",
    { hint: 1 },
    { a: [1] },
    { hint: 1 },
    null,
    { hint: 1 },
    undefined,
    { hint: 1 },
  ]);
});

test.each(['{"reward":1}', '{"score":"1"}', '{"score":null}', '{"score":1e999}'])(
  "TASK-5: an evaluation without a finite score, %s, is an error and never a 0",
  async (result) => {
    const server = await fakeServer(async (connection) => {
      await connection.hello();
      connection.reply(await connection.expect("tasks.start"), { prompt: "?" });
      const { id } = await connection.expect("tasks.grade");
      connection.socket.write(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);
      await connection.serve();
    });
    const client = await connected(server.url);
    const error = await rejection((await client.start("a")).grade("x"));
    assert.deepEqual(
      [error.code, error.message],
      ["protocol-violation", "Cannot use the result of tasks.grade as 'score' must be a finite number"],
    );
    await client.ping();
  },
);

test("CLI-5: start, grade and start issued together go in this order", async () => {
  const { env, log } = quiz();
  const client = await connected((await served(env)).url);
  const [first, evaluation, second] = await Promise.all([
    client.start("ask"),
    client.grade("right"),
    client.start("ask"),
  ]);
  assert.equal(evaluation.score, 1);
  assert.equal((await second.grade("wrong")).score, 0);
  assert.equal(codeOf(await rejection(first.grade("right"))), "no-task");
  assert.deepEqual(log, ["start", "grade right", "end", "start", "grade wrong", "end"]);
});

test.each(["start", "grade"] as const)(
  "TASK-8: cancel() aborts a %s under way; its error comes first, and the clean-up has run",
  async (part) => {
    const { env, log } = slow(part);
    const client = await connected((await served(env)).url);
    const outcomes: string[] = [];
    const task = part === "grade" ? await client.start("slow") : undefined;
    const pending = noted(outcomes, part, task ? task.grade("x") : client.start("slow"));
    await until(() => log.at(-1) === (task ? "grade x" : "start"), "the task has begun");
    await noted(outcomes, "cancel", client.cancel());
    assert.deepEqual(outcomes, [`${part} -32000`, "cancel ok"]);
    await pending;
    assert.equal(log.at(-1), "end");
    assert.equal((await rejection(client.grade("x"))).code, "no-task");
  },
);

test("CLI-5: a call that waits when the cancel comes fails as cancelled, and was never sent", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    const start = await connection.expect("tasks.start");
    const cancel = await connection.expect("tasks.cancel");
    connection.send(
      { id: start.id, error: { code: -32000, message: "cancelled" } },
      { id: cancel.id, result: {} },
    );
    // What is not about a task is still wanted.
    connection.reply(await connection.expect("tasks.list"), { tasks: [] });
    assert.deepEqual(await connection.serve(), []);
  });
  const client = await connected(server.url);
  const log: string[] = [];
  const outcomes = [
    noted(log, "start", client.start("a")),
    noted(log, "grade", client.grade("x")),
    noted(log, "second start", client.start("b")),
    noted(log, "list", client.tasks()),
  ];
  await noted(log, "cancel", client.cancel());
  await Promise.all(outcomes);
  assert.deepEqual(log.toSorted(), [
    "cancel ok",
    "grade -32000",
    "list ok",
    "second start -32000",
    "start -32000",
  ]);
  assert.equal(log.indexOf("start -32000") < log.indexOf("cancel ok"), true);
  await client.close();
});

test("CLI-5: a cancelled call that was never sent says so with the type of one that was", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    await connection.expect("tasks.start");
    connection.reply(await connection.expect("tasks.cancel"), {});
    await connection.gone();
  });
  const client = await connected(server.url);
  const start = rejection(client.start("a"));
  const grade = rejection(client.grade("x"));
  await client.cancel();
  const error = await grade;
  assert.ok(error instanceof ProtocolError);
  assert.deepEqual(error.data, { type: "cancelled" });
  client.abort();
  assert.equal((await start).code, "closed");
});

test("cancel() gives up waiting with its signal", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    await connection.expect("tasks.cancel");
    await connection.gone();
  });
  const client = await connected(server.url);
  const reason = new Error("enough");
  const controller = new AbortController();
  const outcome = rejection(client.cancel({ signal: controller.signal }));
  controller.abort(reason);
  assert.equal(await outcome, reason);
  assert.equal(await rejection(client.cancel({ signal: controller.signal })), reason);
});

test.each(["start", "grade"] as const)(
  "TASK-8: the signal of a %s under way tells the environment",
  async (part) => {
    const { env, log } = slow(part);
    const client = await connected((await served(env)).url);
    const controller = new AbortController();
    const { signal } = controller;
    const task = part === "grade" ? await client.start("slow") : undefined;
    const pending = rejection(task ? task.grade("x", { signal }) : client.start("slow", {}, { signal }));
    await until(() => log.at(-1) === (task ? "grade x" : "start"), "the task has begun");
    const reason = new Error("enough");
    controller.abort(reason);
    assert.equal(await pending, reason);
    await until(() => log.at(-1) === "end", "the clean-up has run");
    assert.equal((await (await client.start("other")).grade("right")).score, 1);
  },
);

test("the signal of a call that waits takes that call away, and touches no other", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    const start = await connection.expect("tasks.start");
    await connection.expect("ping").then((ping) => connection.reply(ping, {}));
    connection.reply(start, { prompt: "?" });
    connection.reply(await connection.expect("tasks.grade"), { score: 1 });
    assert.deepEqual(await connection.serve(), []);
  });
  const client = await connected(server.url);
  const start = client.start("a");
  const controller = new AbortController();
  const waiting = rejection(client.start("b", {}, { signal: controller.signal }));
  const grade = client.grade("x");
  controller.abort(new Error("enough"));
  assert.equal((await waiting).message, "enough");
  await client.ping();
  assert.equal((await start).prompt, "?");
  assert.equal((await grade).score, 1);
  await client.close();
});

test("the signal of a start under way leaves the start behind it alone", async () => {
  const { env, log } = slow("start");
  const client = await connected((await served(env)).url);
  const controller = new AbortController();
  const first = rejection(client.start("slow", {}, { signal: controller.signal }));
  const second = client.start("other");
  await until(() => log.length > 0, "the task has begun");
  controller.abort(new Error("enough"));
  assert.equal((await first).message, "enough");
  assert.equal((await (await second).grade("right")).score, 1);
  assert.deepEqual(log, ["start", "end"]);
});

test("the signal of tasks() sends nothing", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    const list = await connection.expect("tasks.list");
    connection.reply(await connection.expect("ping"), {});
    connection.reply(list, { tasks: [] });
    assert.deepEqual(await connection.serve(), []);
  });
  const client = await connected(server.url);
  const controller = new AbortController();
  const list = rejection(client.tasks({ signal: controller.signal }));
  controller.abort(new Error("enough"));
  assert.equal((await list).message, "enough");
  await client.ping();
  await client.close();
});

test("calls with a signal that has given up before are not sent", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    assert.deepEqual(await connection.serve(), []);
  });
  const client = await connected(server.url);
  const reason = new Error("enough");
  const signal = AbortSignal.abort(reason);
  const calls = [
    client.tasks({ signal }),
    client.start("a", {}, { signal }),
    client.grade("x", { signal, adopt: true }),
    client.cancel({ signal }),
    client.ping({ signal }),
    client.resume({ signal }),
  ];
  for (const call of calls) assert.equal(await rejection(call), reason);
  await client.close();
});

test("SESS-6: a session that has started nothing does not grade, unless it is told to adopt", async () => {
  const { env, log } = quiz();
  const { url } = await served(env);
  const other = await connected(url);
  await other.start("ask");
  await other.close();
  const client = await connected(url);
  const error = await rejection(client.grade("right"));
  assert.ok(error instanceof EnvportError);
  assert.equal(error.code, "no-task");
  assert.deepEqual(log, ["start"]);
  assert.equal((await client.grade("right", { adopt: true })).score, 1);
  assert.equal((await rejection(client.grade("right"))).code, "no-task");
});

/** Ways in which a session comes to hold nothing, after each of which a grade would be somebody else's. */
const emptied: [string, (client: Awaited<ReturnType<typeof connected>>) => Promise<unknown>][] = [
  ["a start of an unknown task", (client) => rejection(client.start("missing"))],
  ["a start that throws", (client) => rejection(client.start("broken"))],
  ["a start whose arguments do not validate", (client) => rejection(client.start("ask", { no: 1 }))],
  ["a cancel", (client) => client.start("ask").then(() => client.cancel())],
  ["a cancel of the task", (client) => client.start("ask").then((task) => task.cancel())],
  ["a grade that throws", (client) => client.start("bad grade").then((task) => rejection(task.grade("x")))],
  [
    "an aborted start",
    async (client) => {
      const controller = new AbortController();
      const start = rejection(client.start("ask", {}, { signal: controller.signal }));
      controller.abort();
      await start;
      await client.ping();
      await sleep(50);
    },
  ],
  [
    "a failed start after a good one",
    (client) => client.start("ask").then(() => rejection(client.start("missing"))),
  ],
];

test.each(emptied)("SESS-6: after %s nothing is graded blind", async (_, empty) => {
  const { env, log } = quiz();
  env.template("broken").run(async function* () {
    throw new Error("no");
  });
  env.template("bad grade").run(async function* () {
    yield "?";
    throw new Error("no");
  });
  const { url } = await served(env);
  const other = await connected(url);
  await other.start("ask");
  await other.close();
  const client = await connected(url);
  await empty(client);
  log.length = 0;
  assert.equal((await rejection(client.grade("right"))).code, "no-task");
  assert.deepEqual(log, []);
  const again = await connected(url, { sessionId: other.sessionId });
  assert.equal((await again.grade("right")).score, 1);
});

test("SESS-6: a grade that waits behind a start that fails is not sent", async () => {
  const server = await fakeServer(async (connection) => {
    await connection.hello();
    connection.fail(await connection.expect("tasks.start"), -32602, "unknown task: 'a'");
    assert.deepEqual(await connection.serve(), []);
  });
  const client = await connected(server.url);
  const log: string[] = [];
  await Promise.all([noted(log, "start", client.start("a")), noted(log, "grade", client.grade("x"))]);
  assert.deepEqual(log, ["start -32602", "grade no-task"]);
  await client.close();
});

test("SESS-6: a start that was too large to be sent leaves the earlier task as it was", async () => {
  const client = await connected((await served(quiz().env)).url, { maxFrameBytes: 1_000 });
  const task = await client.start("ask");
  assert.equal(codeOf(await rejection(client.start("ask", { x: "x".repeat(2_000) }))), "frame-too-large");
  assert.equal((await task.grade("right")).score, 1);
});

test("SESS-6: a repeated grade is answered with the same evaluation where the server keeps it", async () => {
  const { env, log } = quiz();
  const client = await connected((await served(env)).url);
  const task = await client.start("ask");
  assert.deepEqual(await task.grade("right"), { score: 1 });
  assert.deepEqual(await task.grade("wrong"), { score: 1 });
  assert.deepEqual(log, ["start", "grade right", "end"]);
});

test("SESS-6: a repeated grade is not sent to a server that would take another session's task for it", async () => {
  const script = async (connection: FakeConnection): Promise<void> => {
    await connection.hello(OLD_HELLO);
    connection.reply(await connection.expect("tasks.start"), { prompt: "?" });
    connection.reply(await connection.expect("tasks.grade"), { score: 1 });
    assert.deepEqual(await connection.serve(), []);
  };
  const client = await connected((await fakeServer(script)).url);
  const task = await client.start("a");
  assert.equal((await task.grade("x")).score, 1);
  for (const repeated of [task.grade("x"), client.grade("x")])
    assert.equal((await rejection(repeated)).code, "no-task");
  await client.close();
});

test("a task that was replaced is neither graded nor cancelled in place of its successor", async () => {
  const { env, log } = quiz();
  const client = await connected((await served(env)).url);
  const first = await client.start("ask");
  const second = await client.start("ask");
  const error = await rejection(first.grade("wrong"));
  assert.deepEqual(
    [error.code, error.message],
    ["no-task", "Cannot grade task 'ask' as it is over: it was graded, cancelled or replaced"],
  );
  await first.cancel();
  assert.equal((await second.grade("right")).score, 1);
  assert.deepEqual(log, ["start", "end", "start", "grade right", "end"]);
});

test("an error of the environment keeps its code, message and data", async () => {
  const client = await connected((await served(quiz().env)).url);
  const error = await rejection(client.start("missing"));
  assert.ok(error instanceof ProtocolError);
  assert.deepEqual(
    [error.code, error.message, error.data],
    [-32602, "unknown task: 'missing'", { type: "unknown-task" }],
  );
});

test("what calls return is typed", async () => {
  const client = await connected((await fakeServer((connection) => connection.hello(HELLO))).url);
  expectTypeOf(client.tasks).returns.resolves.toEqualTypeOf<TaskInfo[]>();
  expectTypeOf(client.start).returns.resolves.toEqualTypeOf<Task>();
  expectTypeOf(client.start).parameter(0).toEqualTypeOf<string>();
  expectTypeOf<Task["prompt"]>().toEqualTypeOf<unknown>();
  expectTypeOf<Task["grade"]>().returns.resolves.toEqualTypeOf<EvaluationResult>();
  expectTypeOf<EvaluationResult["score"]>().toEqualTypeOf<number>();
  expectTypeOf<EvaluationResult["info"]>().toEqualTypeOf<unknown>();
});
