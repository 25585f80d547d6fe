import { isJsonObject } from "@envport/wire";
import { NotClaimed } from "../_mismatch.ts";
import type { Scenario } from "../_scenario.ts";
import type { Talk } from "../_talk.ts";
import type { Drop, ServerStage } from "./stage.ts";
import { FOREVER_MS } from "./stage.ts";

const NO_TASK = { code: -32600, words: "no task in progress" };
const AMBIGUOUS = { code: -32600, words: "2 parked sessions" };
/** More parked sessions than this are not made to find a limit. */
const MAX_PROBED_PARKED = 200;

/** Grades a task and lets the connection go before the reply comes; resolves when the grade is over. */
async function loseResult(stage: ServerStage, how: Drop, score: number): Promise<Talk> {
  const [talk, label] = [await stage.session(), stage.label()];
  await talk.start("slow-grade", { ms: FOREVER_MS, label, score });
  talk.request("tasks.grade", { answer: "A" });
  await stage.untilEvent(label, "grade", "tasks.grade of slow-grade");
  await stage.leaveDuring(talk, how, label);
  await stage.untilEvent(label, "end", `${how} during a grade`);
  await stage.settled(talk.sessionId);
  return talk;
}

/** Scenarios of SESS-5 to SESS-7: what a grade is about. */
export const ADOPTION_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "SESS-5",
    name: "a grade without a task adopts the only parked one, of any kind of drop",
    alone: true,
    needs: ["echo"],
    run: async (stage) => {
      for (const [index, how] of (["end", "close", "reset"] as const).entries()) {
        const parked = await stage.park({ score: index }, how);
        const talk = await stage.session();
        await talk.exactly("tasks.grade", { answer: "" }, { score: index });
        await talk.error("hello", { session_id: parked }, { code: -32600, words: "unknown session" });
        await talk.error("tasks.grade", {}, NO_TASK);
      }
    },
  },
  {
    rule: "SESS-5",
    name: "a live session's task is never adopted, and one that is being left is",
    alone: true,
    needs: ["echo"],
    run: async (stage) => {
      const [live, talk] = [await stage.session(), await stage.session()];
      await live.start("echo", { score: 7 });
      await talk.error("tasks.grade", {}, NO_TASK);
      await stage.drop(live, "end");
      await talk.exactly("tasks.grade", {}, { score: 7 });
    },
  },
  {
    rule: "SESS-5",
    name: "several parked tasks are listed, sorted, and left alone",
    alone: true,
    needs: ["echo"],
    run: async (stage) => {
      const ids: string[] = [];
      for (let score = 0; score < 4; score++) ids.push(await stage.park({ score }));
      const talk = await stage.session();
      const { message } = await talk.error("tasks.grade", {}, { code: -32600, words: "4 parked sessions" });
      const listed = [...message.matchAll(/sess-\w+/g)].map(([id]) => id);
      talk.check(
        listed.join() === ids.toSorted().join(),
        `the ids in order: ${ids.toSorted().join(", ")}`,
        message,
      );
      for (const [score, id] of ids.entries()) {
        await talk.hello({ session_id: id });
        await talk.exactly("tasks.grade", {}, { score });
      }
    },
  },
  {
    rule: "SESS-5",
    name: "an adopted task that fails is over",
    alone: true,
    needs: ["throw-grade"],
    run: async (stage) => {
      const parked = await stage.session();
      await parked.start("throw-grade");
      await stage.drop(parked, "end");
      const talk = await stage.session();
      await talk.error("tasks.grade", {}, { code: -32000 });
      await talk.error("tasks.grade", {}, NO_TASK);
    },
  },
  {
    rule: "SESS-6",
    name: "a session that has graded its own task never adopts",
    alone: true,
    needs: ["echo", "throw-grade", "ledger"],
    run: async (stage) => {
      for (const task of ["echo", "throw-grade"]) {
        const [talk, label] = [await stage.session(), stage.label()];
        await talk.start(task);
        const parked = await stage.park({ score: 0.25, label });
        const { result } = await talk.call("tasks.grade", { answer: "A" });
        const own = isJsonObject(result) && result["score"] === 1;
        talk.check(task !== "echo" || own, "the own score, 1", result);
        for (let retry = 0; retry < 3; retry++) await talk.error("tasks.grade", { answer: "A" }, NO_TASK);
        await stage.checkEvents(
          label,
          "start prompt",
          "a retried tasks.grade while another session's task is parked",
        );
        const other = await stage.session({ session_id: parked });
        await other.exactly("tasks.grade", {}, { score: 0.25 });
      }
    },
  },
  {
    rule: "SESS-6",
    name: "with replay a retry gets the stored result, also after a resume, and nothing runs twice",
    alone: true,
    needs: ["echo", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session({ replay: true }), stage.label()];
      await talk.start("echo", { score: 0.5, label });
      const parked = await stage.park({ score: 0.25 });
      for (let times = 0; times < 3; times++)
        await talk.exactly("tasks.grade", { answer: "A" }, { score: 0.5 });
      const became = await stage.drop(talk, "end");
      talk.check(became === "parked", "a session with a stored result to be kept", became);
      const again = await stage.session({ session_id: talk.sessionId, replay: true });
      await again.exactly("tasks.grade", { answer: "A" }, { score: 0.5 });
      const events = (await stage.events(label)).filter((event) => event === "grade").length;
      again.check(events === 1, "the task to be graded once", `${String(events)} times`);
      await again.start("echo", { score: 0.75 });
      await again.exactly("tasks.grade", {}, { score: 0.75 });
      await again.error("hello", { session_id: `${parked}0` }, { code: -32600, words: "unknown session" });
    },
  },
  {
    rule: "SESS-6",
    name: "a new start clears the stored result, also one that fails",
    alone: true,
    needs: ["echo", "throw-start"],
    run: async (stage) => {
      const talk = await stage.session({ replay: true });
      for (const id of ["throw-start", "no-such-task"]) {
        await talk.start("echo");
        await talk.exactly("tasks.grade", {}, { score: 1 });
        await talk.call("tasks.start", { id });
        await talk.error("tasks.grade", {}, NO_TASK);
      }
    },
  },
  ...(["close", "reset"] as const).map((how): Scenario<ServerStage> => ({
    rule: "SESS-6",
    name: `a result that was lost (${how}) is served once to a blind grade`,
    alone: true,
    needs: ["slow-grade", "release", "ledger"],
    run: async (stage) => {
      await loseResult(stage, how, 0.5);
      const talk = await stage.session();
      await talk.exactly("tasks.grade", { answer: "B" }, { score: 0.5 });
      const other = await stage.session();
      await other.error("tasks.grade", {}, NO_TASK);
    },
  })),
  {
    rule: "SESS-6",
    name: "a lost result and a parked task are ambiguous; by id each is had",
    alone: true,
    needs: ["slow-grade", "release", "echo", "ledger"],
    run: async (stage) => {
      const lost = await loseResult(stage, "reset", 0.5);
      const parked = await stage.park({ score: 0.25 });
      const talk = await stage.session({ replay: true });
      const { message } = await talk.error("tasks.grade", { answer: "A" }, AMBIGUOUS);
      const both = message.includes(lost.sessionId) && message.includes(parked);
      talk.check(both, `both ids, ${lost.sessionId} and ${parked}`, message);
      await talk.hello({ session_id: lost.sessionId, replay: true });
      await talk.exactly("tasks.grade", { answer: "A" }, { score: 0.5 });
      const other = await stage.session();
      await other.exactly("tasks.grade", { answer: "B" }, { score: 0.25 });
    },
  },
  {
    rule: "SESS-6",
    name: "a result that was delivered is no candidate for a blind grade",
    alone: true,
    needs: ["echo"],
    run: async (stage) => {
      for (const replay of [false, true]) {
        const talk = await stage.session(replay ? { replay } : {});
        await talk.start("echo");
        await talk.exactly("tasks.grade", {}, { score: 1 });
        await stage.drop(talk, "end");
        const other = await stage.session();
        await other.error("tasks.grade", {}, NO_TASK);
        await stage.park({ score: 0.25 });
        await other.exactly("tasks.grade", {}, { score: 0.25 });
      }
    },
  },
  {
    rule: "SESS-7",
    name: "more parked sessions than maxParked are given up, the oldest first, and cleaned up",
    alone: true,
    needs: ["echo", "ledger"],
    run: async (stage) => {
      const { maxParked } = stage.facts.limits;
      if (maxParked > MAX_PROBED_PARKED) {
        throw new NotClaimed(
          `maxParked is ${String(maxParked)}; run the fixture with at most ${String(MAX_PROBED_PARKED)}`,
        );
      }
      const label = stage.label();
      const oldest = await stage.park({ label });
      let newest = "";
      for (let count = 0; count < maxParked; count++) newest = await stage.park();
      await stage.untilEvent(label, "end", `${String(maxParked + 1)} parked sessions`);
      const talk = await stage.session();
      await talk.error("hello", { session_id: oldest }, { code: -32600, words: "unknown session" });
      await talk.hello({ session_id: newest });
    },
  },
];
