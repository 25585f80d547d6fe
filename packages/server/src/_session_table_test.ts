import { describe, expect, test } from "vitest";
import { SessionTable } from "./_session_table.ts";

interface Connection {
  leaving: boolean;
}

const limits = { parkTtl: 100, resultTtl: 30, maxParked: 3 };

function table(options: Partial<typeof limits> = {}): SessionTable<Connection, string> {
  return new SessionTable({ ...limits, ...options });
}

const here = (): Connection => ({ leaving: false });

describe("live and parked", () => {
  test("a session without a task is gone with its connection; one with a task is parked", () => {
    const sessions = table();
    const [empty, busy] = [sessions.open("a", here()), sessions.open("b", here())];
    busy.runner = "task";
    expect([sessions.liveCount, sessions.parkedCount]).toEqual([2, 0]);
    sessions.drop(empty, 0);
    sessions.drop(busy, 0);
    expect([sessions.liveCount, sessions.parkedCount]).toEqual([0, 1]);
    expect([sessions.has(empty), sessions.has(busy)]).toEqual([false, true]);
  });

  test("a session is kept as long as a call is being executed for it", () => {
    const sessions = table();
    const session = sessions.open("a", here());
    session.calls = 1;
    sessions.drop(session, 0);
    expect(sessions.has(session)).toBe(true);
    session.calls = 0;
    sessions.settle(session, 1);
    expect(sessions.has(session)).toBe(false);
  });

  test("SESS-7: parked tasks and results are removed when their time has come, and only then", () => {
    const sessions = table();
    const [task, result] = [sessions.open("a", here()), sessions.open("b", here())];
    task.runner = "task";
    sessions.store(result, { score: 1 }, 0);
    expect(sessions.nextExpiry).toBe(Infinity);
    sessions.drop(task, 10);
    sessions.drop(result, 20);
    expect(sessions.nextExpiry).toBe(50);
    expect(sessions.expire(49)).toEqual([]);
    expect(sessions.expire(50)).toEqual([result]);
    expect(sessions.nextExpiry).toBe(110);
    expect(sessions.expire(110)).toEqual([task]);
    expect(sessions.nextExpiry).toBe(Infinity);
    expect(sessions.parkedCount).toBe(0);
  });

  test("SESS-7: the time of a parked task begins when it is parked, that of its result when it is there", () => {
    const sessions = table();
    const session = sessions.open("a", here());
    session.runner = "task";
    sessions.drop(session, 0);
    sessions.settle(session, 50);
    expect(session.expires).toBe(100);
    sessions.store(session, { score: 1 }, 60);
    expect(session.expires).toBe(90);
    sessions.resume(sessions.open("b", here()), "a", false, 70);
    expect(sessions.expire(90)).toEqual([]);
    expect(sessions.nextExpiry).toBe(Infinity);
    sessions.drop(session, 95);
    expect(sessions.nextExpiry).toBe(125);
  });

  test("SESS-7: more parked sessions than maxParked are removed, the oldest first", () => {
    const sessions = table();
    const parked = ["a", "b", "c", "d", "e"].map((id) => {
      const session = sessions.open(id, here());
      session.runner = id;
      return session;
    });
    for (const session of [parked[2]!, parked[0]!, parked[1]!, parked[3]!, parked[4]!])
      sessions.drop(session, 1);
    expect(sessions.expire(1).map(({ id }) => id)).toEqual(["c", "a"]);
    expect(sessions.parkedCount).toBe(3);
  });

  test("a session that was removed is not brought back by what still runs for it", () => {
    const sessions = table();
    const session = sessions.open("a", here());
    session.runner = "task";
    session.calls = 1;
    sessions.drop(session, 0);
    expect(sessions.expire(100)).toEqual([session]);
    sessions.store(session, { score: 1 }, 101);
    session.calls = 0;
    sessions.settle(session, 102);
    expect([sessions.liveCount, sessions.parkedCount]).toEqual([0, 0]);
  });
});

describe("resume", () => {
  test("SESS-2: a parked session is resumed; the own id is gone, or parked with its task", () => {
    const sessions = table();
    const connection = here();
    const parked = sessions.open("a", here());
    parked.runner = "task a";
    sessions.drop(parked, 0);
    const empty = sessions.open("b", connection);
    expect(sessions.resume(empty, "a", false, 1)).toEqual({ session: parked, displaced: undefined });
    expect(parked.connection).toBe(connection);
    expect(sessions.has(empty)).toBe(false);
    expect([sessions.liveCount, sessions.parkedCount]).toEqual([1, 0]);

    const other = sessions.open("c", here());
    other.runner = "task c";
    sessions.drop(other, 2);
    sessions.resume(parked, "c", false, 3);
    expect(parked.connection).toBe(undefined);
    expect([sessions.liveCount, sessions.parkedCount]).toEqual([1, 1]);
  });

  test("SESS-2: what is unknown or live is refused and changes nothing", () => {
    const sessions = table();
    const [a, b] = [sessions.open("a", here()), sessions.open("b", here())];
    expect(() => sessions.resume(a, "x", true, 0)).toThrow("unknown session: 'x'");
    expect(() => sessions.resume(a, "b", false, 0)).toThrow("session 'b' has a live connection");
    expect([a, b].map(({ connection }) => connection !== undefined)).toEqual([true, true]);
  });

  test("SESS-8: a takeover returns the connection that it displaces", () => {
    const sessions = table();
    const [old, fresh] = [here(), here()];
    const session = sessions.open("a", old);
    const own = sessions.open("b", fresh);
    expect(sessions.resume(own, "a", true, 0)).toEqual({ session, displaced: old });
    expect(session.connection).toBe(fresh);
  });
});

describe("claim", () => {
  test("SESS-5: the own task comes first, then the only parked one, which becomes the own", () => {
    const sessions = table();
    const own = sessions.open("a", here());
    const other = sessions.open("b", here());
    expect(() => sessions.claim(own, 0)).toThrow("no task in progress");
    other.runner = "task";
    expect(() => sessions.claim(own, 0)).toThrow("no task in progress");
    sessions.drop(other, 0);
    own.runner = "mine";
    expect(sessions.claim(own, 0)).toBe("task");
    expect(own.runner).toBe("mine");
    own.runner = undefined;
    expect(sessions.claim(own, 0)).toBe("task");
    expect(own.runner).toBe("task");
    expect(sessions.has(other)).toBe(false);
  });

  test("SESS-5: several parked tasks are ambiguous, their ids sorted, whatever the order of parking", () => {
    const sessions = table({ maxParked: 10 });
    for (const id of ["sess-c", "sess-a", "sess-b"]) {
      const session = sessions.open(id, here());
      session.runner = id;
      sessions.drop(session, 0);
    }
    const message =
      "3 parked sessions (sess-a, sess-b, sess-c); resume one by sending hello with its session_id";
    expect(() => sessions.claim(sessions.open("own", here()), 0)).toThrow(message);
    expect(sessions.parkedCount).toBe(3);
  });

  test("SESS-6: a session that has graded its own task never adopts", () => {
    const sessions = table();
    const other = sessions.open("b", here());
    other.runner = "task";
    sessions.drop(other, 0);
    const own = sessions.open("a", here());
    own.graded = true;
    expect(() => sessions.claim(own, 0)).toThrow("no task in progress");
    expect(other.runner).toBe("task");
  });

  test("SESS-6: an undelivered result counts beside the parked tasks, a delivered one never", () => {
    const sessions = table();
    const [task, lost, kept] = ["a", "b", "c"].map((id) => sessions.open(id, here()));
    task!.runner = "task";
    kept!.replay = true;
    for (const session of [lost!, kept!]) sessions.store(session, { score: 1 }, 0);
    sessions.sent(kept!, sessions.send(kept!), true, 0);
    for (const session of [task!, lost!, kept!]) sessions.drop(session, 0);
    const own = sessions.open("own", here());
    expect(() => sessions.claim(own, 0)).toThrow("2 parked sessions (a, b)");
    sessions.remove(task!);
    expect(sessions.claim(own, 0)).toBe("result");
    expect(own.result).toEqual({ evaluation: { score: 1 }, delivered: false });
    expect([sessions.has(lost!), sessions.has(kept!)]).toEqual([false, true]);
  });

  test("SESS-6: what a reply, a call or a leaving client decides is waited for", () => {
    const sessions = table();
    const connection = here();
    const other = sessions.open("b", connection);
    const own = sessions.open("own", here());
    other.runner = "task";
    connection.leaving = true;
    expect(sessions.claim(own, 0)).toBe("undecided");
    sessions.drop(other, 0);
    other.calls = 1;
    expect(sessions.claim(own, 0)).toBe("undecided");
    other.calls = 0;
    sessions.store(other, { score: 1 }, 0);
    const reply = sessions.send(other);
    expect(sessions.claim(own, 0)).toBe("undecided");
    sessions.sent(other, reply, false, 0);
    expect(sessions.claim(own, 0)).toBe("result");
  });

  test("SESS-6: a leaving client's task makes a grade ambiguous at once", () => {
    const sessions = table();
    const leaving = sessions.open("a", { leaving: true });
    const parked = sessions.open("b", here());
    leaving.runner = parked.runner = "task";
    sessions.drop(parked, 0);
    expect(() => sessions.claim(sessions.open("own", here()), 0)).toThrow("2 parked sessions (a, b)");
  });
});

describe("results", () => {
  test("SESS-6: a delivered result is kept only for a session that asked for it", () => {
    const sessions = table();
    const [plain, replaying] = [sessions.open("a", here()), sessions.open("b", here())];
    replaying.replay = true;
    for (const session of [plain, replaying]) {
      sessions.store(session, { score: 1 }, 0);
      sessions.sent(session, sessions.send(session), true, 0);
      session.graded = true;
    }
    expect(() => sessions.claim(plain, 0)).toThrow("no task in progress");
    expect(sessions.claim(replaying, 0)).toBe("result");
  });

  test("SESS-6: a result that reached somebody once stays delivered, whatever later replies meet", () => {
    const sessions = table();
    const session = sessions.open("a", here());
    session.replay = true;
    sessions.store(session, { score: 1 }, 0);
    sessions.sent(session, sessions.send(session), true, 0);
    sessions.sent(session, sessions.send(session), false, 0);
    expect(session.result?.delivered).toBe(true);
  });

  test("SESS-6: what became of an earlier reply says nothing about a later result", () => {
    const sessions = table();
    const session = sessions.open("a", here());
    sessions.store(session, { score: 1 }, 0);
    const first = sessions.send(session);
    sessions.store(session, { score: 2 }, 0);
    const second = sessions.send(session);
    sessions.sent(session, first, true, 0);
    expect(session.result?.delivered).toBe(undefined);
    sessions.sent(session, second, false, 0);
    expect(session.result).toEqual({ evaluation: { score: 2 }, delivered: false });
  });
});
