import { describe, expect, test } from "vitest";
import { DROPS, NO_TASK, noticed, stage, until, work } from "./_testing.ts";

describe("a retry on the same session", () => {
  test("SESS-6: it never consumes another session's task", async () => {
    const { connect, park, server } = await stage();
    const client = await connect();
    await client.result("tasks.start", work(1));
    await park(2);
    expect(await client.result("tasks.grade", { answer: "A" })).toEqual({ score: 1.5 });
    for (let retry = 0; retry < 3; retry++) {
      expect(await client.error("tasks.grade", { answer: "A" })).toEqual(NO_TASK);
    }
    expect(server.stats().sessions.parked).toBe(1);
    expect(await (await connect()).result("tasks.grade", { answer: "B" })).toEqual({ score: 2.5 });
  });

  test("SESS-6: not after a failed grade either", async () => {
    const { connect, park } = await stage();
    const client = await connect();
    await client.result("tasks.start", work(1));
    await park(2);
    expect(await client.error("tasks.grade", { answer: "throw" })).toMatchObject({ code: -32000 });
    expect(await client.error("tasks.grade", { answer: "A" })).toEqual(NO_TASK);
    await client.result("tasks.start", work(3));
    await client.result("tasks.cancel");
    expect(await client.error("tasks.grade", { answer: "A" })).toEqual(NO_TASK);
  });

  test("SESS-6: with replay it gets the stored result, and nothing runs twice", async () => {
    const { connect, park, events } = await stage();
    const client = await connect();
    await client.hello({ replay: true });
    await client.result("tasks.start", work(1));
    await park(2);
    for (let retry = 0; retry < 3; retry++) {
      expect(await client.result("tasks.grade", { answer: "A" })).toEqual({ score: 1.5 });
    }
    client.send({ id: "x", method: "tasks.grade" }, { id: "y", method: "tasks.grade" });
    expect(await client.next()).toMatchObject({ id: "x", result: { score: 1.5 } });
    expect(await client.next()).toMatchObject({ id: "y", result: { score: 1.5 } });
    expect(events.filter((event) => event.startsWith("grade"))).toEqual(["grade 1"]);
  });

  test("SESS-6: a new start clears the stored result, also one that fails", async () => {
    const { connect } = await stage();
    const client = await connect();
    await client.hello({ replay: true });
    for (const start of [{ id: "throws" }, { id: "nope" }]) {
      await client.result("tasks.start", work(1));
      await client.result("tasks.grade");
      await client.error("tasks.start", start);
      expect(await client.error("tasks.grade")).toEqual(NO_TASK);
    }
    // A start of the wrong type leaves everything alone.
    await client.result("tasks.start", work(2));
    await client.result("tasks.grade");
    await client.error("tasks.start", { id: 5 });
    expect(await client.result("tasks.grade")).toEqual({ score: 2.5 });
  });

  test("SESS-6: replay asked for after the delivery comes too late", async () => {
    const { connect } = await stage();
    const client = await connect();
    await client.result("tasks.start", work(1));
    await client.result("tasks.grade");
    await client.hello({ replay: true });
    expect(await client.error("tasks.grade")).toEqual(NO_TASK);
  });
});

describe("a result that got lost", () => {
  test.each(DROPS)(
    "SESS-6: dropped (%s) during the grade, resumed by id: the result is served",
    async (_, drop) => {
      const { connect, events, gates, server } = await stage();
      const client = await connect();
      const session = await client.hello();
      await client.result("tasks.start", work(1, "grade"));
      client.request("tasks.grade", { answer: "A" });
      await until(() => events.includes("grade 1"));
      drop(client);
      await noticed();
      gates.get(1)!.open();
      await until(() => server.stats().sessions.live === 0);
      expect(server.stats().sessions.parked).toBe(1);
      const other = await connect();
      await other.hello({ session_id: session });
      expect(await other.result("tasks.grade", { answer: "other" })).toEqual({ score: 1.5 });
      expect(await other.error("tasks.grade")).toEqual(NO_TASK);
      expect(events).toEqual(["start 1", "grade 1", "end 1", `hook ${session}`]);
    },
  );

  test("SESS-6: reset during the grade and resumed while it is still running: its result is waited for", async () => {
    const { connect, events, gates, server } = await stage();
    const client = await connect();
    const session = await client.hello();
    await client.result("tasks.start", work(1, "grade"));
    client.request("tasks.grade", { answer: "A" });
    await until(() => events.includes("grade 1"));
    client.reset();
    await until(() => server.stats().sessions.parked === 1);
    const other = await connect();
    await other.hello({ session_id: session });
    const grade = other.request("tasks.grade", { answer: "other" });
    await other.call("ping");
    expect(other.frames).toEqual([]);
    gates.get(1)!.open();
    expect(await other.reply(grade)).toMatchObject({ result: { score: 1.5 } });
    expect(events.filter((event) => event === "grade 1").length).toBe(1);
    expect(await other.error("tasks.grade")).toEqual(NO_TASK);
  });

  test.each(DROPS)(
    "SESS-6: dropped (%s), then a blind grade: the only candidate is served, once",
    async (_, drop) => {
      const { connect, events, gates } = await stage();
      const client = await connect();
      await client.result("tasks.start", work(1, "grade"));
      client.request("tasks.grade", { answer: "A" });
      await until(() => events.includes("grade 1"));
      drop(client);
      await noticed();
      const [blind, late] = await Promise.all([connect(), connect()]);
      const grade = blind.request("tasks.grade", { answer: "B" });
      await blind.call("ping");
      gates.get(1)!.open();
      expect(await blind.reply(grade)).toMatchObject({ result: { score: 1.5 } });
      expect(await late.error("tasks.grade")).toEqual(NO_TASK);
      expect(events.filter((event) => event.startsWith("grade"))).toEqual(["grade 1"]);
    },
  );

  test.each(DROPS)(
    "SESS-6: dropped (%s) with another task parked, a blind retry is ambiguous before and after the grade ends",
    async (_, drop) => {
      const { connect, park, events, gates, server } = await stage();
      const client = await connect();
      const mine = await client.hello();
      await client.result("tasks.start", work(1, "grade"));
      const theirs = await park(2);
      client.request("tasks.grade", { answer: "A" });
      await until(() => events.includes("grade 1"));
      drop(client);
      await noticed();
      const ambiguous = { code: -32600, data: { type: "ambiguous", session_ids: [mine, theirs].sort() } };
      const blind = await connect();
      expect(await blind.error("tasks.grade", { answer: "A" })).toMatchObject(ambiguous);
      gates.get(1)!.open();
      await until(() => server.stats().sessions.live === 1);
      expect(await blind.error("tasks.grade", { answer: "A" })).toMatchObject(ambiguous);
      // Whoever knows the id is served, and the other task is still there for its owner.
      await blind.hello({ session_id: mine });
      expect(await blind.result("tasks.grade", { answer: "A" })).toEqual({ score: 1.5 });
      expect(await (await connect()).result("tasks.grade", { answer: "B" })).toEqual({ score: 2.5 });
    },
  );

  test("SESS-6: a delivered result is no candidate: start and grade, one after the other, never get ambiguous", async () => {
    const { connect, park } = await stage();
    for (let k = 1; k <= 20; k++) {
      await park(k, k % 2 ? (client) => client.destroy() : (client) => client.reset());
      const client = await connect();
      if (k % 3 === 0) await client.hello({ replay: true });
      expect(await client.result("tasks.grade")).toEqual({ score: k + 0.5 });
      client.destroy();
    }
  });

  test("SESS-6: a client that ends its direction and reads on gets its result, which is delivered then", async () => {
    const { connect, server, events, gates } = await stage();
    const client = await connect();
    client.send({ id: 1, method: "tasks.start", params: work(1, "grade") });
    client.socket.end(`${JSON.stringify({ id: 2, method: "tasks.grade" })}\n`);
    await until(() => events.includes("grade 1"));
    const blind = await connect();
    const grade = blind.request("tasks.grade");
    gates.get(1)!.open();
    expect(await client.reply(2)).toMatchObject({ result: { score: 1.5 } });
    expect(await client.ended).toBe("end");
    expect(await blind.reply(grade)).toMatchObject({ error: NO_TASK });
    expect(server.stats().sessions.parked).toBe(0);
  });

  test("SESS-6: a blind grade that waits can be cancelled, and takes nothing if its connection is lost", async () => {
    const { connect, events, gates, server } = await stage();
    const client = await connect();
    await client.result("tasks.start", work(1, "grade"));
    client.request("tasks.grade", { answer: "A" });
    await until(() => events.includes("grade 1"));
    client.reset();
    await until(() => server.stats().sessions.parked === 1);
    const [patient, gone] = await Promise.all([connect(), connect()]);
    const grade = patient.request("tasks.grade");
    gone.request("tasks.grade");
    await Promise.all([patient.call("ping"), gone.call("ping")]);
    gone.reset();
    expect(await patient.result("tasks.cancel")).toEqual({ cancelled: true });
    expect(await patient.reply(grade)).toMatchObject({ error: { data: { type: "cancelled" } } });
    await until(() => server.stats().connections === 1);
    gates.get(1)!.open();
    await until(() => events.length === 4);
    expect(await patient.result("tasks.grade")).toEqual({ score: 1.5 });
    expect(server.stats().sessions).toEqual({ live: 1, parked: 0 });
  });

  test("SESS-6: a result is kept for resultTtl, also after a resume by id", async () => {
    const { connect, events, gates, server } = await stage({ resultTtl: 1_000 });
    const client = await connect();
    const session = await client.hello({ replay: true });
    await client.result("tasks.start", work(1, "grade"));
    const grade = client.request("tasks.grade");
    await until(() => events.includes("grade 1"));
    gates.get(1)!.open();
    await client.reply(grade);
    client.destroy();
    await until(() => server.stats().sessions.parked === 1);
    // It was delivered: resumable by whoever knows the id, no candidate for others.
    expect(await (await connect()).error("tasks.grade")).toEqual(NO_TASK);
    const other = await connect();
    await other.hello({ session_id: session });
    for (let retry = 0; retry < 2; retry++) expect(await other.result("tasks.grade")).toEqual({ score: 1.5 });
    other.destroy();
    await until(() => server.stats().sessions.parked === 1);
    await until(() => server.stats().sessions.parked === 0);
    expect(await (await connect()).error("hello", { session_id: session })).toMatchObject({
      data: { type: "unknown-session" },
    });
  });
});

describe("takeover", () => {
  test("SESS-8: a session is taken over from an open connection, which is closed", async () => {
    const { connect, server } = await stage();
    const [old, fresh] = await Promise.all([connect(), connect()]);
    const session = await old.hello();
    await old.result("tasks.start", work(1));
    expect(await fresh.error("hello", { session_id: session })).toMatchObject({
      data: { type: "live-session" },
    });
    expect(await fresh.error("hello", { session_id: session, takeover: "yes" })).toMatchObject({
      code: -32600,
    });
    expect(await fresh.hello({ session_id: session, takeover: true })).toBe(session);
    await old.ended;
    await until(() => server.stats().connections === 1);
    expect(server.stats().sessions).toEqual({ live: 1, parked: 0 });
    expect(await fresh.result("tasks.grade")).toEqual({ score: 1.5 });
    expect(await fresh.error("hello", { session_id: "sess-0", takeover: true })).toMatchObject({
      code: -32600,
    });
  });

  test.each(["start", "grade"] as const)(
    "SESS-8: during a %s it goes on, for the new connection",
    async (hold) => {
      const { connect, events, gates, server } = await stage();
      const [old, fresh] = await Promise.all([connect(), connect()]);
      const session = await old.hello();
      const start = old.request("tasks.start", work(1, hold));
      if (hold === "grade") {
        await old.reply(start);
        old.request("tasks.grade", { answer: "old" });
      }
      await until(() => events.includes(`${hold} 1`));
      await fresh.hello({ session_id: session, takeover: true });
      const grade = fresh.request("tasks.grade", { answer: "new" });
      await fresh.call("ping");
      expect(fresh.frames).toEqual([]);
      gates.get(1)!.open();
      expect(await fresh.reply(grade)).toMatchObject({ result: { score: 1.5 } });
      expect(events).toEqual(["start 1", "grade 1", "end 1", `hook ${session}`]);
      expect(await fresh.error("tasks.grade")).toEqual(NO_TASK);
      await until(() => server.stats().connections === 1);
    },
  );

  test("SESS-8: what the old connection had still to do is not done", async () => {
    const { connect, events, gates, server } = await stage();
    const [old, fresh] = await Promise.all([connect(), connect()]);
    const session = await old.hello();
    old.send(
      { id: 1, method: "tasks.start", params: work(1, "start") },
      { id: 2, method: "tasks.start", params: work(2) },
      { id: 3, method: "bye" },
    );
    await until(() => events.includes("start 1"));
    await fresh.hello({ session_id: session, takeover: true });
    gates.get(1)!.open();
    expect(await fresh.result("tasks.grade")).toEqual({ score: 1.5 });
    await until(() => server.stats().connections === 1);
    expect(events).not.toContain("start 2");
    expect(await fresh.hello()).toBe(session);
  });

  test("SESS-8: the new connection can cancel what the old one has begun, and start anew", async () => {
    const { connect, events, gates } = await stage();
    const [old, fresh] = await Promise.all([connect(), connect()]);
    const session = await old.hello();
    old.send({ id: 1, method: "tasks.start", params: work(1, "start") });
    await until(() => events.includes("start 1"));
    await fresh.hello({ session_id: session, takeover: true });
    const start = fresh.request("tasks.start", work(2));
    await fresh.call("ping");
    expect(events).toEqual(["start 1"]);
    fresh.request("tasks.cancel");
    expect(await fresh.reply(start)).toMatchObject({ error: { data: { type: "cancelled" } } });
    expect(await fresh.result("tasks.start", work(3))).toEqual({ prompt: "go:3" });
    expect(events).toEqual(["start 1", "end 1", `hook ${session}`, "start 3"]);
    gates.clear();
  });

  test("SESS-8: a client that has ended its direction is displaced too", async () => {
    const { connect, events, gates, server } = await stage();
    const [old, fresh] = await Promise.all([connect(), connect()]);
    const session = await old.hello();
    await old.result("tasks.start", work(1, "grade"));
    old.request("tasks.grade");
    await until(() => events.includes("grade 1"));
    old.destroy();
    await noticed();
    expect(await fresh.error("hello", { session_id: session })).toMatchObject({
      data: { type: "live-session" },
    });
    await fresh.hello({ session_id: session, takeover: true });
    gates.get(1)!.open();
    expect(await fresh.result("tasks.grade")).toEqual({ score: 1.5 });
    await until(() => server.stats().connections === 1);
  });

  test("SESS-8: two takeovers of one session at the same time leave it with one of them", async () => {
    const { connect, server } = await stage();
    const old = await connect();
    const session = await old.hello();
    await old.result("tasks.start", work(1));
    const clients = await Promise.all([connect(), connect()]);
    await Promise.all(clients.map(({ socket }) => new Promise((resolve) => socket.write("\n", resolve))));
    for (const client of clients)
      client.send({ id: "t", method: "hello", params: { session_id: session, takeover: true } });
    const loser = await Promise.race(clients.map((client) => client.ended.then(() => client)));
    await until(() => server.stats().connections === 1);
    expect(server.stats().sessions).toEqual({ live: 1, parked: 0 });
    const winner = clients.find((client) => client !== loser)!;
    expect(await winner.result("tasks.grade")).toEqual({ score: 1.5 });
  });
});
