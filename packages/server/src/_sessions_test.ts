import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { DROPS, NO_TASK, noticed, served, stage, trackedEnvironment, until, work } from "./_testing.ts";

describe("ids", () => {
  test("SESS-3: ids are sess- and 128 random bits in hex, and never come twice", async () => {
    const { connect } = await stage();
    const ids = await Promise.all(Array.from({ length: 200 }, async () => (await connect()).hello()));
    for (const id of ids) expect(id).toMatch(/^sess-[0-9a-f]{32}$/);
    expect(new Set(ids).size).toBe(200);
    // Each of the 32 digits takes many values.
    for (let digit = 5; digit < 37; digit++)
      expect(new Set(ids.map((id) => id[digit])).size).toBeGreaterThan(8);
  });

  test("SESS-2: a parked session is resumed by its id, and its task graded", async () => {
    const { connect, park, server } = await stage();
    const session = await park(1);
    const client = await connect();
    const own = await client.hello();
    expect(await client.hello({ session_id: session })).toBe(session);
    expect(await client.hello()).toBe(session);
    expect(server.stats().sessions).toEqual({ live: 1, parked: 0 });
    expect(await client.result("tasks.grade")).toEqual({ score: 1.5 });
    const other = await connect();
    expect(await other.error("hello", { session_id: own })).toMatchObject({
      message: `unknown session: '${own}'`,
    });
  });

  test("SESS-2: the own id is parked where it holds a task", async () => {
    const { connect, park } = await stage();
    const session = await park(1);
    const client = await connect();
    const own = await client.hello();
    await client.result("tasks.start", work(2));
    await client.hello({ session_id: session });
    expect(await client.result("tasks.grade")).toEqual({ score: 1.5 });
    expect(await client.hello({ session_id: own })).toBe(own);
    expect(await client.result("tasks.grade")).toEqual({ score: 2.5 });
  });

  test("SESS-2: unknown and live sessions are refused, ids of a wrong type are wrong params", async () => {
    const { connect } = await stage();
    const [live, client] = await Promise.all([connect(), connect()]);
    const [other, own] = [await live.hello(), await client.hello()];
    expect(await client.error("hello", { session_id: other })).toEqual({
      code: -32600,
      message: `session '${other}' has a live connection`,
      data: { type: "live-session" },
    });
    expect(await client.error("hello", { session_id: "sess-ffffffff" })).toEqual({
      code: -32600,
      message: "unknown session: 'sess-ffffffff'",
      data: { type: "unknown-session" },
    });
    for (const id of [5, {}, [], true]) {
      expect(await client.error("hello", { session_id: id })).toMatchObject({ code: -32602 });
    }
    expect(await client.hello({ session_id: own })).toBe(own);
  });

  test("two connections resume one session at the same time: one gets it", async () => {
    const { connect, park } = await stage();
    const session = await park(1);
    const clients = await Promise.all([connect(), connect(), connect()]);
    const replies = await Promise.all(clients.map((client) => client.call("hello", { session_id: session })));
    expect(replies.filter(({ result }) => result?.session_id === session).length).toBe(1);
    expect(replies.filter(({ error }) => error?.data.type === "live-session").length).toBe(2);
  });
});

describe("going away", () => {
  test.each(DROPS)(
    "SESS-4: a dropped connection (%s) parks the task, which goes on later",
    async (_, drop) => {
      const { connect, park, events } = await stage();
      await park(1, drop);
      expect(events).toEqual(["start 1"]);
      expect(await (await connect()).result("tasks.grade", { answer: "a" })).toEqual({ score: 1.5 });
    },
  );

  test("SESS-4: bye cancels the task, answers and closes", async () => {
    const { connect, events, server } = await stage();
    const client = await connect();
    const session = await client.hello();
    await client.result("tasks.start", work(1));
    expect(await client.result("bye")).toEqual({ goodbye: true });
    expect(events).toEqual(["start 1", "end 1", `hook ${session}`]);
    expect(await client.ended).toBe("end");
    client.destroy();
    await until(() => server.stats().connections === 0);
    expect(server.stats().sessions).toEqual({ live: 0, parked: 0 });
  });

  test("SESS-4: every line before an EOF is executed and answered, an unterminated last one included", async () => {
    const { connect, server } = await stage();
    const client = await connect();
    client.socket.end(
      `${JSON.stringify({ id: 1, method: "tasks.start", params: work(1) })}\n` +
        `${JSON.stringify({ id: 2, method: "tasks.grade" })}\n` +
        JSON.stringify({ id: 3, method: "tasks.start", params: work(3) }),
    );
    expect(await client.ended).toBe("end");
    expect(client.frames.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(client.frames[1]!["result"]).toEqual({ score: 1.5 });
    await until(() => server.stats().connections === 0);
    expect(server.stats().sessions).toEqual({ live: 0, parked: 1 });
  });

  test("SESS-4: lines before an EOF are executed also when nobody reads the replies", async () => {
    const { connect, server, events, gates } = await stage();
    const client = await connect();
    client.send({ id: 1, method: "tasks.start", params: work(1, "start") });
    client.send({ id: 2, method: "tasks.grade", params: { answer: "a" } });
    client.send({ id: 3, method: "tasks.start", params: work(3) });
    client.destroy();
    await until(() => events.includes("start 1"));
    gates.get(1)!.open();
    await until(() => server.stats().connections === 0);
    await until(() => events.includes("start 3"));
    expect(events.filter((event) => !event.startsWith("hook"))).toEqual([
      "start 1",
      "grade 1",
      "end 1",
      "start 3",
    ]);
    expect(server.stats().sessions).toEqual({ live: 0, parked: 1 });
  });

  test.each(DROPS)("SESS-4: a drop (%s) during a start: it finishes and parks", async (_, drop) => {
    const { connect, events, gates, server } = await stage();
    const client = await connect();
    client.request("tasks.start", work(1, "start"));
    await until(() => events.includes("start 1"));
    drop(client);
    await noticed();
    gates.get(1)!.open();
    await until(() => server.stats().sessions.live === 0);
    expect(events).toEqual(["start 1"]);
    expect(await (await connect()).result("tasks.grade")).toEqual({ score: 1.5 });
    expect(server.stats().sessions.parked).toBe(0);
  });

  test.each(DROPS)(
    "SESS-4: a drop (%s) during a start of which others wait: their grade waits too",
    async (_, drop) => {
      const { connect, events, gates } = await stage();
      const client = await connect();
      client.request("tasks.start", work(1, "start"));
      await until(() => events.includes("start 1"));
      drop(client);
      await noticed();
      const other = await connect();
      const grade = other.request("tasks.grade", { answer: "a" });
      await other.call("ping");
      expect(other.frames).toEqual([]);
      gates.get(1)!.open();
      expect(await other.reply(grade)).toMatchObject({ result: { score: 1.5 } });
    },
  );

  test("a start that waits behind another one when the connection is reset leaves no task behind", async () => {
    const { connect, events, gates, server } = await stage();
    const client = await connect();
    client.request("tasks.start", work(1, "end"));
    await until(() => events.includes("start 1"));
    client.request("tasks.start", work(2));
    await until(() => events.includes("end 1"));
    client.request("tasks.start", work(3));
    client.request("tasks.grade");
    await client.call("ping");
    client.reset();
    await until(() => server.stats().connections === 0);
    gates.get(1)!.open();
    // The second had begun: it finishes and is parked. The others had not.
    await until(() => events.includes("start 2"));
    expect(await (await connect()).result("tasks.grade")).toEqual({ score: 2.5 });
    expect(events).not.toContain("start 3");
    expect(server.stats().sessions.parked).toBe(0);
  });

  test("a failing start of a lost connection leaves no session behind", async () => {
    const { connect, server, env } = await stage();
    let fail!: () => void;
    env.template("slow").run(async function* () {
      await new Promise<void>((_, reject) => (fail = () => reject(new Error("late"))));
      yield "never";
    });
    const client = await connect();
    client.request("tasks.start", { id: "slow" });
    await until(() => fail !== undefined);
    client.reset();
    await until(() => server.stats().connections === 0);
    expect(server.stats().sessions).toEqual({ live: 0, parked: 1 });
    fail();
    await until(() => server.stats().sessions.parked === 0);
  });
});

describe("adoption", () => {
  test("SESS-5: a plain grade adopts the only parked task, hooks see the session that started it", async () => {
    const { connect, park, events, server } = await stage();
    const session = await park(1);
    const client = await connect();
    expect(await client.result("tasks.grade", { answer: "a" })).toEqual({ score: 1.5 });
    expect(events).toEqual(["start 1", "grade 1", "end 1", `hook ${session}`]);
    expect(await client.error("tasks.grade")).toEqual(NO_TASK);
    expect(server.stats().sessions).toEqual({ live: 1, parked: 0 });
    expect(await client.error("hello", { session_id: session })).toMatchObject({
      data: { type: "unknown-session" },
    });
  });

  test("SESS-5: several parked tasks are ambiguous, and all stay", async () => {
    const { connect, park, server } = await stage();
    const ids = [await park(1), await park(2), await park(3)].sort();
    const client = await connect();
    expect(await client.error("tasks.grade")).toEqual({
      code: -32600,
      message: `3 parked sessions (${ids.join(", ")}); resume one by sending hello with its session_id`,
      data: { type: "ambiguous", session_ids: ids },
    });
    expect(server.stats().sessions.parked).toBe(3);
  });

  test("SESS-5: the task of a live session is never adopted", async () => {
    const { connect } = await stage();
    const [holder, client] = await Promise.all([connect(), connect()]);
    await holder.result("tasks.start", work(1));
    expect(await client.error("tasks.grade")).toEqual(NO_TASK);
    expect(await holder.result("tasks.grade")).toEqual({ score: 1.5 });
  });

  test("SESS-5: a task that somebody adopts is nobody else's, also while it is being graded", async () => {
    const { connect, events, gates, park, env } = await stage();
    const first = await connect();
    await first.result("tasks.start", work(1, "grade"));
    first.destroy();
    const [adopter, other] = await Promise.all([connect(), connect()]);
    const grade = adopter.request("tasks.grade", { answer: "a" });
    await until(() => events.includes("grade 1"));
    expect(await other.error("tasks.grade", { answer: "b" })).toEqual(NO_TASK);
    await park(2);
    expect(await other.result("tasks.grade", { answer: "b" })).toEqual({ score: 2.5 });
    gates.get(1)!.open();
    expect(await adopter.reply(grade)).toMatchObject({ result: { score: 1.5 } });
    expect(env.templates.size).toBe(2);
  });

  test("SESS-6: who has only adopted may adopt again; who has graded a task of its own may not", async () => {
    const { connect, park } = await stage();
    const adopter = await connect();
    for (const k of [1, 2]) {
      await park(k);
      expect(await adopter.result("tasks.grade")).toEqual({ score: k + 0.5 });
    }
    await adopter.result("tasks.start", work(3));
    await adopter.result("tasks.grade");
    await park(4);
    expect(await adopter.error("tasks.grade")).toEqual(NO_TASK);
  });

  test("a blind grade whose connection is lost while it waits does not grade", async () => {
    const { connect, events, gates, server } = await stage();
    const [starter, gone] = await Promise.all([connect(), connect()]);
    starter.request("tasks.start", work(1, "start"));
    await until(() => events.includes("start 1"));
    starter.reset();
    await until(() => server.stats().sessions.parked === 1);
    gone.request("tasks.grade", { answer: "of nobody" });
    await gone.call("ping");
    gone.reset();
    await until(() => server.stats().connections === 0);
    gates.get(1)!.open();
    expect(await (await connect()).result("tasks.grade", { answer: "a" })).toEqual({ score: 1.5 });
    expect(events.filter((event) => event.startsWith("grade"))).toEqual(["grade 1"]);
  });

  test("an adopter can cancel, and what it reports goes to the adopter", async () => {
    const { connect, env, server } = await stage();
    env.template("reports").run(async function* (_, ctx) {
      yield "p";
      ctx.progress("grading");
      await new Promise((_, reject) =>
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error)),
      );
      yield 1;
    });
    const first = await connect();
    await first.hello({ progress: true });
    await first.result("tasks.start", { id: "reports" });
    first.destroy();
    await until(() => server.stats().sessions.parked === 1);
    const adopter = await connect();
    await adopter.hello({ progress: true });
    const grade = adopter.request("tasks.grade");
    expect(await adopter.next()).toMatchObject({ method: "tasks.progress", params: { message: "grading" } });
    const cancel = adopter.request("tasks.cancel");
    expect(await adopter.next()).toMatchObject({ id: grade, error: { data: { type: "cancelled" } } });
    expect(await adopter.next()).toMatchObject({ id: cancel, result: { cancelled: true } });
    expect(server.stats().sessions).toEqual({ live: 1, parked: 0 });
  });

  test("a failed grade consumes the adopted task", async () => {
    const { connect, park, events } = await stage();
    const session = await park(1);
    const client = await connect();
    expect(await client.error("tasks.grade", { answer: "throw" })).toMatchObject({ code: -32000 });
    expect(events).toEqual(["start 1", "grade 1", "end 1", `hook ${session}`]);
    expect(await client.error("tasks.grade")).toEqual(NO_TASK);
  });
});

describe("expiry", () => {
  test("SESS-7: a parked task expires after parkTtl, with its clean-up and a line in the log", async () => {
    const track = trackedEnvironment();
    const { connect, server, log } = await served(track.env, { parkTtl: 400 });
    const client = await connect();
    const session = await client.hello();
    await client.result("tasks.start", work(1));
    await sleep(450);
    // Live sessions do not expire.
    expect(track.events).toEqual(["start 1"]);
    client.destroy();
    await until(() => server.stats().sessions.parked === 1);
    await until(() => server.stats().sessions.parked === 0);
    await until(() => track.events.length === 3);
    expect(track.events).toEqual(["start 1", "end 1", `hook ${session}`]);
    expect(log.entries).toContainEqual({
      level: "warn",
      message: "a parked session was given up",
      fields: { session },
    });
    const other = await connect();
    expect(await other.error("hello", { session_id: session })).toMatchObject({
      data: { type: "unknown-session" },
    });
    expect(await other.error("tasks.grade")).toEqual(NO_TASK);
  });

  test("SESS-7: at most maxParked are kept; the oldest is cleaned up", async () => {
    const { park, events, server, connect } = await stage({ maxParked: 2 });
    const first = await park(1);
    const second = await park(2);
    const client = await connect();
    const third = await client.hello();
    await client.result("tasks.start", work(3));
    client.destroy();
    await until(() => events.includes(`hook ${first}`));
    expect(server.stats().sessions.parked).toBe(2);
    expect(events).not.toContain("end 2");
    const ids = [second, third].sort().join(", ");
    expect(await (await connect()).error("tasks.grade")).toMatchObject({
      message: expect.stringContaining(ids),
    });
  });

  test("a start that nobody waits for any more expires too", async () => {
    const { connect, events, server } = await stage({ parkTtl: 400 });
    const client = await connect();
    client.request("tasks.start", work(1, "start"));
    await until(() => events.includes("start 1"));
    client.reset();
    await until(() => server.stats().sessions.parked === 1);
    await until(() => server.stats().sessions.parked === 0);
    await until(() => events.some((event) => event.startsWith("hook")));
    expect(events.slice(0, 2)).toEqual(["start 1", "end 1"]);
  });
});
