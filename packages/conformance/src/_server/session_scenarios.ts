import { isJsonObject } from "@envport/wire";
import type { Scenario } from "../_scenario.ts";
import type { Drop, ServerStage } from "./stage.ts";
import { FOREVER_MS } from "./stage.ts";

const DROPS: readonly Drop[] = ["end", "close", "reset"];
/** How many sessions are looked at for the form of their ids. */
const MANY = 50;
/** A capability of the contract that a strict server announces. */
const CAPABILITIES = ["cancel", "ping", "replay"];

function droppedStart(how: Drop): Scenario<ServerStage> {
  return {
    rule: "SESS-4",
    name: `a drop during a start lets it finish and park (${how})`,
    needs: ["slow-start", "release", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      talk.request("tasks.start", { id: "slow-start", args: { ms: FOREVER_MS, label } });
      await stage.untilEvent(label, "start", "tasks.start of slow-start");
      await stage.leaveDuring(talk, how, label);
      await stage.untilEvent(label, "prompt", `${how} during a start`);
      const became = await stage.settled(talk.sessionId);
      talk.check(became === "parked", "the task that was started to be parked", became);
      const other = await stage.session({ session_id: talk.sessionId });
      await other.exactly("tasks.grade", {}, { score: 1 });
    },
  };
}

function droppedGrade(how: Drop): Scenario<ServerStage> {
  return {
    rule: "SESS-4",
    name: `a drop during a grade lets it finish (${how})`,
    needs: ["slow-grade", "release", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      await talk.start("slow-grade", { ms: FOREVER_MS, label });
      talk.request("tasks.grade", { answer: "A" });
      await stage.untilEvent(label, "grade", "tasks.grade of slow-grade");
      await stage.leaveDuring(talk, how, label);
      const events = await stage.untilEvent(label, "end", `${how} during a grade`);
      talk.check(events.includes("graded"), "the grade to come to its end", events);
    },
  };
}

/** Scenarios of SESS-1 to SESS-4, and of SESS-8 and SESS-9: what a session is, and how it comes and goes. */
export const SESSION_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "SESS-1",
    name: "hello tells session, environment and bindings, again and again the same",
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.connect();
      const first = await talk.hello();
      const { env, bindings } = first;
      const named =
        isJsonObject(env) && typeof env["name"] === "string" && typeof env["version"] === "string";
      talk.check(named, "env with name and version", env);
      const all: unknown[] = Array.isArray(bindings) ? bindings : [];
      const echo = all.find((binding) => isJsonObject(binding) && binding["name"] === "echo");
      const whole =
        isJsonObject(echo) &&
        Object.keys(echo).sort().join() === "name,params,protocol,url" &&
        isJsonObject(echo["params"]);
      talk.check(whole, "a binding 'echo' of name, protocol, url and params", bindings);
      await talk.start("echo");
      await talk.exactly("hello", {}, first);
      await talk.exactly("hello", { session_id: talk.sessionId }, first);
      await talk.exactly("tasks.grade", {}, { score: 1 });
    },
  },
  {
    rule: "SESS-1",
    name: "a session exists from the first frame, hello or not",
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.connect();
      await talk.start("echo", { text: "first" });
      await talk.hello();
      await talk.exactly("tasks.grade", {}, { score: 1 });
    },
  },
  {
    rule: "SESS-2",
    name: "hello with the id of a parked session resumes it, whatever way its connection went",
    needs: ["echo"],
    run: async (stage) => {
      for (const [index, how] of DROPS.entries()) {
        const id = await stage.park({ score: index }, how);
        const talk = await stage.session({ session_id: id });
        talk.check(talk.sessionId === id, `session_id ${id}`, talk.sessionId);
        await talk.exactly("tasks.grade", {}, { score: index });
      }
    },
  },
  {
    rule: "SESS-2",
    name: "after a resume the own id is gone, or parked if it holds a task",
    needs: ["echo"],
    run: async (stage) => {
      const [first, second] = [await stage.park({ score: 1 }), await stage.park({ score: 2 })];
      const talk = await stage.session();
      const own = talk.sessionId;
      await talk.hello({ session_id: first });
      const other = await stage.session();
      const words = "unknown session";
      await other.error("hello", { session_id: own }, { code: -32600, words });
      await talk.hello({ session_id: second });
      await other.hello({ session_id: first });
      await other.exactly("tasks.grade", {}, { score: 1 });
      await talk.exactly("tasks.grade", {}, { score: 2 });
    },
  },
  {
    rule: "SESS-2",
    name: "a session that is live elsewhere or unknown is refused, and nothing changes",
    needs: ["echo"],
    run: async (stage) => {
      const [talk, other] = [await stage.session(), await stage.session()];
      await talk.start("echo", { score: 3 });
      await other.start("echo", { score: 4 });
      const live = { session_id: talk.sessionId };
      await other.error("hello", live, { code: -32600, words: "has a live connection" });
      await other.error("hello", { session_id: "" }, { code: -32600, words: "unknown session" });
      await other.error("hello", { session_id: {} }, { code: -32602 });
      await other.exactly("tasks.grade", {}, { score: 4 });
      await talk.exactly("tasks.grade", {}, { score: 3 });
    },
  },
  {
    rule: "SESS-3",
    name: "ids are sess- and 32 hex digits, and none comes twice",
    run: async (stage) => {
      const talks = await Promise.all(Array.from({ length: MANY }, () => stage.session()));
      for (const talk of talks) {
        talk.check(
          /^sess-[0-9a-f]{32}$/.test(talk.sessionId),
          "session_id sess-<32 hex digits>",
          talk.sessionId,
        );
      }
      const ids = new Set(talks.map(({ sessionId }) => sessionId));
      talks[0]!.check(ids.size === MANY, `${String(MANY)} different ids`, String(ids.size));
      const digits = new Set([...ids].map((id) => id.slice(5, 13)));
      talks[0]!.check(digits.size === MANY, "ids that differ in their first half", [...ids].slice(0, 2));
    },
  },
  {
    rule: "SESS-4",
    name: "a drop of any kind parks the task",
    needs: ["echo", "ledger"],
    run: async (stage) => {
      for (const how of DROPS) {
        const label = stage.label();
        await stage.park({ label }, how);
        await stage.checkEvents(label, "start prompt", `a drop of a session with a task (${how})`);
      }
    },
  },
  {
    rule: "SESS-4",
    name: "bye cancels the task, answers and closes",
    needs: ["echo", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      await talk.start("echo", { label });
      await talk.exactly("bye", {}, { goodbye: true });
      const events = await stage.events(label);
      talk.check(events.includes("end"), "the task's clean-up before the reply", events);
      await talk.closed("the end of the connection after goodbye");
      const other = await stage.session();
      const words = "unknown session";
      await other.error("hello", { session_id: talk.sessionId }, { code: -32600, words });
    },
  },
  {
    rule: "SESS-4",
    name: "what came before a client's end is executed and answered, an unterminated last line included",
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.connect();
      talk.raw.write(
        '{"jsonrpc":"2.0","id":1,"method":"hello"}\n{"jsonrpc":"2.0","id":2,"method":"tasks.list"}',
      );
      talk.raw.end();
      await talk.resultOf(1);
      await talk.resultOf(2);
      await talk.closed();
      const starting = await stage.session();
      starting.raw.write('{"jsonrpc":"2.0","id":1,"method":"tasks.start","params":{"id":"echo"}}');
      starting.raw.end();
      await starting.resultOf(1);
      const became = await stage.settled(starting.sessionId);
      starting.check(became === "parked", "the started task to be parked", became);
    },
  },
  ...DROPS.flatMap((how) => [droppedStart(how), droppedGrade(how)]),
  {
    rule: "SESS-8",
    name: "takeover takes a session from an open connection, and closes that one",
    needs: ["echo"],
    run: async (stage) => {
      const [old, talk] = [await stage.session(), await stage.session()];
      await old.start("echo", { score: 5 });
      await talk.hello({ session_id: old.sessionId, takeover: true });
      talk.check(talk.sessionId === old.sessionId, `session_id ${old.sessionId}`, talk.sessionId);
      await old.closed("the old connection to be closed");
      await talk.exactly("tasks.grade", {}, { score: 5 });
      const parked = await stage.park({ score: 6 });
      await talk.hello({ session_id: parked, takeover: true });
      await talk.exactly("tasks.grade", {}, { score: 6 });
    },
  },
  {
    rule: "SESS-9",
    name: "hello announces the protocol and what the server can do",
    run: async (stage) => {
      const talk = await stage.connect();
      const { protocol, capabilities } = await talk.hello();
      talk.check(protocol === "envport/1", 'protocol "envport/1"', protocol);
      const announced =
        isJsonObject(capabilities) && CAPABILITIES.every((name) => capabilities[name] === true);
      talk.check(announced, `capabilities with ${CAPABILITIES.join(", ")}`, capabilities);
    },
  },
];
