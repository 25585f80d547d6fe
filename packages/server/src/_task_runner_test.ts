import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Frame, LineClient, RecordingLogger } from "./_testing.ts";
import { NO_TASK, gate, passThrough, served, stage, until, work } from "./_testing.ts";
import { Environment } from "./environment.ts";
import { evaluation } from "./evaluation.ts";
import type { ServeOptions } from "./serve.ts";
import type { TaskContext, TaskFunction, TaskTimeouts } from "./template.ts";

interface Task {
  client: LineClient;
  env: Environment;
  log: RecordingLogger;
  hooks: string[];
  start(): Promise<Frame>;
  grade(params?: object): Promise<Frame>;
}

/** Serves one task, `t`. */
async function serveTask(
  run: TaskFunction<Record<string, unknown>, string | undefined>,
  { timeouts, ...options }: ServeOptions & { timeouts?: TaskTimeouts } = {},
): Promise<Task> {
  const env = new Environment();
  const hooks: string[] = [];
  env.template("t", { timeouts, args: passThrough() }).run(run);
  env.onTaskEnd((session) => void hooks.push(session));
  const { connect, log } = await served(env, options);
  const client = await connect();
  const start = (): Promise<Frame> => client.call("tasks.start", { id: "t" });
  const grade = (params = {}): Promise<Frame> => client.call("tasks.grade", params);
  return { client, env, log, hooks, start, grade };
}

/** Rejects when the signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
}

const never = (): Promise<never> => new Promise(() => {});

describe("start", () => {
  test.each([
    ["a string", "p", { prompt: "p" }],
    [
      "an object with a prompt",
      { prompt: "p", bindings: ["shell"], more: 1 },
      { prompt: "p", bindings: ["shell"], more: 1 },
    ],
    ["a prompt of messages", { prompt: [{ role: "user" }] }, { prompt: [{ role: "user" }] }],
    ["an object without one", { text: "p" }, { prompt: { text: "p" } }],
    ["an array", ["a", "b"], { prompt: ["a", "b"] }],
    ["a number", 0, { prompt: 0 }],
    ["nothing", undefined, { prompt: null }],
  ])("TASK-2: %s is what the prompt frame is made of", async (_, value, frame) => {
    const { start } = await serveTask(async function* () {
      yield value;
    });
    expect(await start()).toMatchObject({ result: frame });
    const { result } = await start();
    expect(Object.keys(result)).toEqual(Object.keys(frame));
  });

  test("TASK-2: a start replaces the earlier task, whose clean-up has finished before the new one begins", async () => {
    const { connect, events, gates } = await stage();
    const client = await connect();
    const session = await client.hello();
    await client.result("tasks.start", work(1, "end"));
    const second = client.request("tasks.start", work(2));
    await until(() => events.includes("end 1"));
    await client.call("ping");
    expect(events).toEqual(["start 1", "end 1"]);
    gates.get(1)!.open();
    expect(await client.reply(second)).toMatchObject({ result: { prompt: "go:2" } });
    expect(events).toEqual(["start 1", "end 1", `hook ${session}`, "start 2"]);
  });

  test.each([
    ["of an unknown task", { id: "nope" }, -32602],
    ["with args that do not validate", { id: "strict", args: { zz: 1 } }, -32602],
    ["that throws", { id: "throws" }, -32000],
  ])("TASK-2: a start %s cancels the earlier task too", async (_, params, code) => {
    const { connect, events, env } = await stage();
    env.template("strict").run(async function* () {
      events.push("strict");
      yield 1;
    });
    const client = await connect();
    const session = await client.hello();
    await client.result("tasks.start", work(1));
    expect(await client.error("tasks.start", params)).toMatchObject({ code });
    expect(events.slice(0, 3)).toEqual(["start 1", "end 1", `hook ${session}`]);
    expect(events).not.toContain("strict");
    expect(await client.error("tasks.grade")).toEqual(NO_TASK);
  });

  test.each([
    { id: 5 },
    { id: null },
    {},
    { id: "work", args: [] },
    { id: "work", args: "x" },
    { id: "work", args: 0 },
  ])("TASK-2: params of a wrong type leave the earlier task alone: %j", async (params) => {
    const { connect, events } = await stage();
    const client = await connect();
    await client.result("tasks.start", work(1));
    expect(await client.error("tasks.start", params)).toMatchObject({ code: -32602 });
    expect(events).toEqual(["start 1"]);
    expect(await client.result("tasks.grade")).toEqual({ score: 1.5 });
  });

  test("TASK-7: a throw before the first yield is told, cleaned up, and leaves no task", async () => {
    const cleanedUp: string[] = [];
    const { start, grade, hooks, client } = await serveTask(async function* () {
      try {
        throw new Error("no disk left");
        yield 1;
      } finally {
        await sleep(5);
        cleanedUp.push("finally");
      }
    });
    expect(await start()).toMatchObject({ error: { code: -32000, message: "no disk left" } });
    expect(cleanedUp).toEqual(["finally"]);
    expect(hooks).toEqual([await client.hello()]);
    expect(await grade()).toMatchObject({ error: NO_TASK });
  });

  test("TASK-7: a generator that ends without a first yield is an error with a real sentence", async () => {
    const { start, hooks } = await serveTask(async function* () {});
    expect(await start()).toMatchObject({ error: { code: -32000, message: "task 't' yielded no prompt" } });
    expect(hooks.length).toBe(1);
  });

  test("TASK-7: a function that makes no generator is an error that says so", async () => {
    const { start } = await serveTask((() => "p") as never);
    const { error } = await start();
    expect(error).toMatchObject({ code: -32000, message: expect.stringContaining("async function*") });
  });

  test("hooks run only for tasks whose code has begun", async () => {
    const { client, env, hooks } = await serveTask(async function* () {
      yield 1;
    });
    env.template("strict").run(async function* () {
      yield 1;
    });
    await client.error("tasks.start", { id: "strict", args: { zz: 1 } });
    await client.error("tasks.start", { id: "nope" });
    expect(hooks).toEqual([]);
  });
});

describe("grade", () => {
  const GRADES: [what: string, value: unknown, frame: object][] = [
    ["a number", 0.25, { score: 0.25 }],
    ["a negative number", -1, { score: -1 }],
    ["true", true, { score: 1 }],
    ["false", false, { score: 0 }],
    ["an object with a score", { score: 0.5, notes: ["x"] }, { score: 0.5, notes: ["x"] }],
    [
      "evaluation()",
      evaluation({ reward: 0.5, content: "c", info: { a: 1 }, subscores: [{ name: "s", value: 1 }] }),
      {
        done: true,
        content: "c",
        info: { a: 1 },
        isError: false,
        subscores: [{ name: "s", weight: 1, value: 1, children: null, info: null }],
        score: 0.5,
      },
    ],
  ];
  test.each(GRADES)("TASK-5: the second yield may be %s", async (_, value, frame) => {
    const { start, grade } = await serveTask(async function* () {
      yield "p";
      yield value;
    });
    await start();
    expect((await grade()).result).toEqual(frame);
  });

  test.each([
    ["a string", "1", "yield a number"],
    ["null", null, "yield a number"],
    ["an array", [1], "yield a number"],
    ["a plain object with a reward", { reward: 1 }, "'score'"],
    ["a score that is a string", { score: "1" }, "'score'"],
    ["a score that is inherited", Object.create({ score: 1 }), "'score'"],
    ["NaN", NaN, "yield a number"],
    ["Infinity", Infinity, "yield a number"],
    ["a score that is NaN", { score: NaN }, "yield a number"],
    ["a bigint", 1n, "yield a number"],
  ])("TASK-5: %s is no evaluation: -32000, and the task is over", async (_, value, words) => {
    const { start, grade, hooks } = await serveTask(async function* () {
      yield "p";
      yield value;
    });
    await start();
    const { error } = await grade();
    expect(error).toMatchObject({ code: -32000, message: expect.stringContaining(words) });
    expect(hooks.length).toBe(1);
    expect(await grade()).toMatchObject({ error: NO_TASK });
  });

  test("TASK-5: a generator that returns without a second yield scores 0, whatever it returns", async () => {
    const { start, grade } = await serveTask(async function* () {
      yield "p";
      return 1;
    });
    await start();
    expect((await grade()).result).toEqual({ score: 0 });
  });

  test("TASK-6: the generator is closed and the hooks run before the reply", async () => {
    const events: string[] = [];
    const { start, grade, env, client } = await serveTask(async function* () {
      try {
        yield "p";
        yield 1;
        events.push("never");
      } finally {
        await sleep(20);
        events.push("finally");
      }
    });
    env.onTaskEnd(async (session) => {
      await sleep(20);
      events.push(session);
    });
    await start();
    expect((await grade()).result).toEqual({ score: 1 });
    expect(events).toEqual(["finally", await client.hello()]);
  });

  test("TASK-6: a clean-up or a hook that throws keeps the score, and is in the log", async () => {
    const { start, grade, env, log, hooks } = await serveTask(async function* () {
      try {
        yield "p";
        yield 1;
      } finally {
        throw new Error("cannot unmount");
      }
    });
    env.onTaskEnd(() => {
      throw new Error("cannot sweep");
    });
    await start();
    expect((await grade()).result).toEqual({ score: 1 });
    expect(hooks.length).toBe(1);
    expect(log.complaints).toEqual(["the clean-up of a task failed", "a task-end hook failed"]);
  });

  test("TASK-4: other members of the call are passed on to the task", async () => {
    let before: unknown;
    const { start, grade } = await serveTask(async function* (_, ctx: TaskContext) {
      before = ctx.grade;
      const answer: unknown = yield "p";
      yield { score: 1, answer, grade: ctx.grade };
    });
    await start();
    const { result } = await grade({ answer: "a", trace: "t-1", files: ["x"] });
    expect(before).toEqual({});
    expect(result).toEqual({ score: 1, answer: "a", grade: { trace: "t-1", files: ["x"] } });
  });
});

describe("cancel", () => {
  test("TASK-8: a cancel ends a suspended task; with no task it is answered all the same", async () => {
    const { connect, events } = await stage();
    const client = await connect();
    const session = await client.hello();
    expect(await client.result("tasks.cancel")).toEqual({ cancelled: true });
    await client.result("tasks.start", work(1));
    expect(await client.result("tasks.cancel")).toEqual({ cancelled: true });
    expect(events).toEqual(["start 1", "end 1", `hook ${session}`]);
    expect(await client.result("tasks.cancel")).toEqual({ cancelled: true });
    expect(await client.error("tasks.grade")).toEqual(NO_TASK);
  });

  test.each(["start", "grade"])(
    "TASK-8: during a %s the signal fires, the call fails as cancelled, then the cancel is answered",
    async (hold) => {
      const events: string[] = [];
      const { client } = await serveTask(async function* (_, ctx: TaskContext) {
        const wait = async (place: string): Promise<void> => {
          events.push(place);
          if (place === hold) await aborted(ctx.signal);
        };
        try {
          await wait("start");
          yield "p";
          await wait("grade");
          yield 1;
        } finally {
          await sleep(20);
          events.push("finally");
        }
      });
      const start = client.request("tasks.start", { id: "t" });
      if (hold === "grade") await client.reply(start);
      const running = hold === "grade" ? client.request("tasks.grade") : start;
      await until(() => events.includes(hold));
      const cancel = client.request("tasks.cancel");
      expect(await client.next()).toMatchObject({
        id: running,
        error: { code: -32000, data: { type: "cancelled" } },
      });
      expect(await client.next()).toMatchObject({ id: cancel, result: { cancelled: true } });
      expect(events.at(-1)).toBe("finally");
      expect(await client.error("tasks.grade")).toEqual(NO_TASK);
    },
  );

  test.each(["start", "grade", "finally"])(
    "TASK-8: a task that ignores its signal in its %s is abandoned after cancelGrace, and reported",
    async (place) => {
      const { client, log, hooks } = await serveTask(
        async function* () {
          try {
            if (place === "start") await never();
            yield "p";
            if (place === "grade") await never();
            yield 1;
          } finally {
            if (place === "finally") await never();
          }
        },
        { cancelGrace: 150 },
      );
      const start = client.request("tasks.start", { id: "t" });
      if (place !== "start") await client.reply(start);
      const running = place === "grade" ? client.request("tasks.grade") : start;
      await client.call("ping");
      const began = performance.now();
      const cancel = client.request("tasks.cancel");
      if (place !== "finally")
        expect(await client.reply(running)).toMatchObject({ error: { data: { type: "cancelled" } } });
      expect(await client.reply(cancel)).toMatchObject({ result: { cancelled: true } });
      expect(performance.now() - began).toBeGreaterThan(140);
      expect(log.complaints).toEqual(["a task ignored its signal and was abandoned"]);
      expect(hooks.length).toBe(1);
      // What was abandoned does not hinder the next one.
      const next = client.request("tasks.start", { id: "t" });
      if (place !== "start") expect(await client.reply(next)).toMatchObject({ result: { prompt: "p" } });
    },
  );

  test("TASK-8: a cancel while a clean-up or a hook is running does not wait for ever, nor run it twice", async () => {
    const events: string[] = [];
    const { client, env, log } = await serveTask(
      async function* () {
        try {
          yield "p";
          yield 1;
        } finally {
          events.push("finally");
        }
      },
      { cancelGrace: 100 },
    );
    env.onTaskEnd(async () => {
      events.push("hook");
      await never();
    });
    await client.result("tasks.start", { id: "t" });
    const grade = client.request("tasks.grade");
    await until(() => events.includes("hook"));
    const cancel = client.request("tasks.cancel");
    expect(await client.reply(grade)).toMatchObject({ error: { data: { type: "cancelled" } } });
    expect(await client.reply(cancel)).toMatchObject({ result: { cancelled: true } });
    expect(events).toEqual(["finally", "hook"]);
    expect(log.complaints).toContain("a task-end hook took too long and was abandoned");
  });

  test("TASK-8: cancel, bye and a drop at the same time clean up once", async () => {
    const { connect, events, gates, server } = await stage();
    const client = await connect();
    const session = await client.hello();
    client.send({ id: 1, method: "tasks.start", params: work(1, "start") });
    await until(() => events.includes("start 1"));
    client.send(
      { id: 2, method: "tasks.cancel" },
      { id: 3, method: "bye" },
      { id: 4, method: "tasks.cancel" },
    );
    client.destroy();
    await until(() => server.stats().connections === 0);
    expect(events).toEqual(["start 1", "end 1", `hook ${session}`]);
    expect(server.stats().sessions).toEqual({ live: 0, parked: 0 });
    gates.clear();
  });
});

describe("time-outs", () => {
  test.each(["start", "grade"])(
    "TASK-9: a %s that takes too long fails with timeout, and is cleaned up",
    async (place) => {
      const events: string[] = [];
      const { client, start, grade } = await serveTask(
        async function* (_, ctx: TaskContext) {
          try {
            if (place === "start") await aborted(ctx.signal);
            yield "p";
            if (place === "grade") await aborted(ctx.signal);
            yield 1;
          } finally {
            events.push("finally");
          }
        },
        { timeouts: { startMs: 250, gradeMs: 250 } },
      );
      let reply = await start();
      if (place === "grade") {
        await sleep(300);
        reply = await grade();
      }
      expect(reply.error).toMatchObject({
        code: -32000,
        message: "the task took longer than 250 ms",
        data: { type: "timeout" },
      });
      expect(events).toEqual(["finally"]);
      expect(await client.error("tasks.grade")).toEqual(NO_TASK);
    },
  );

  test("TASK-9: a time-out is never a score, also where the task swallows it", async () => {
    const { start, grade } = await serveTask(
      async function* (_, ctx: TaskContext) {
        yield "p";
        await aborted(ctx.signal).catch(() => {});
        yield 0;
      },
      { timeouts: { gradeMs: 50 } },
    );
    await start();
    expect((await grade()).error).toMatchObject({ data: { type: "timeout" } });
  });

  test("TASK-9: a task that ignores its signal is abandoned when its time and the grace are over", async () => {
    const { start, log } = await serveTask(
      async function* () {
        await never();
        yield "p";
      },
      { timeouts: { startMs: 50 }, cancelGrace: 50 },
    );
    expect((await start()).error).toMatchObject({ data: { type: "timeout" } });
    expect(log.complaints).toContain("a task ignored its signal and was abandoned");
  });

  test.each([Infinity, NaN, -1, 2 ** 31, "5" as never])(
    "a time-out of %s is refused when the task is registered",
    (ms) => {
      const env = new Environment();
      const register = () => env.template("t", { timeouts: { gradeMs: ms } }).run(async function* () {});
      expect(register).toThrow(/timeouts\.gradeMs of task 't'/);
    },
  );
});

describe("the task's context", () => {
  test("its signal fires when the task is over, and only then", async () => {
    let signal!: AbortSignal;
    const { start, grade } = await serveTask(async function* (_, ctx: TaskContext) {
      signal = ctx.signal;
      yield "p";
      yield 1;
    });
    await start();
    expect(signal.aborted).toBe(false);
    await grade();
    expect(signal.aborted).toBe(true);
  });

  test("its session id is that of the session that started it", async () => {
    const seen: string[] = [];
    const { client, start, env } = await serveTask(async function* (_, ctx: TaskContext) {
      seen.push(ctx.sessionId);
      yield "p";
      seen.push(ctx.sessionId);
      yield 1;
    });
    await start();
    await client.result("tasks.grade");
    expect(seen).toEqual([await client.hello(), seen[0]]);
    expect(env.templates.has("t")).toBe(true);
  });

  test("what a generator does after it was abandoned reaches nobody", async () => {
    const late = gate();
    const events: string[] = [];
    const { client } = await serveTask(
      async function* (_, ctx: TaskContext) {
        try {
          await late.opened;
          ctx.progress("late");
          yield "p";
        } finally {
          events.push("finally");
        }
      },
      { cancelGrace: 30 },
    );
    await client.hello({ progress: true });
    client.request("tasks.start", { id: "t" });
    await client.call("ping");
    await client.result("tasks.cancel");
    client.frames.length = 0;
    late.open();
    await until(() => events.includes("finally"));
    await client.call("ping");
    expect(client.frames).toEqual([]);
  });
});
