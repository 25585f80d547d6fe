import type { JsonObject } from "@envport/wire";
import { Mismatch } from "../_mismatch.ts";
import type { Scenario } from "../_scenario.ts";
import { HELLO, OLD_HELLO, SESSION_ID } from "./served_talk.ts";
import type { ClientStage } from "./stage.ts";

/** How often a client is told to ask whether the server is there, in milliseconds. */
const HEARTBEAT_MS = 200;

const PROMPT: JsonObject = { prompt: "p" };

/** Scenarios of CLI-5 to CLI-7, and what a client does about SESS-6: calls, and the line that they go over. */
export const CALL_SCENARIOS: readonly Scenario<ClientStage>[] = [
  {
    rule: "CLI-5",
    name: "calls are sent one after the other",
    run: async (stage) => {
      const talk = await stage.connected();
      const [starting, listing] = [stage.begin("start", { id: "echo" }), stage.begin("list")];
      const start = await talk.request("tasks.start");
      await stage.quiet(talk.raw, "no other request before the reply to tasks.start");
      talk.answer(start, PROMPT);
      talk.answer(await talk.request("tasks.list"), { tasks: [] });
      await stage.has(starting, PROMPT);
      await stage.ok(listing);
    },
  },
  {
    rule: "CLI-5",
    name: "a reply that nobody waits for ends the connection, and the pending call fails",
    run: async (stage) => {
      const talk = await stage.connected();
      const listing = stage.begin("list");
      await talk.request("tasks.list");
      talk.send({ jsonrpc: "2.0", id: 987_654, result: { tasks: [] } });
      await stage.fails(listing);
      await talk.closed("the client to close the connection");
    },
  },
  {
    rule: "CLI-5",
    name: "cancel is sent while a start is pending, whose error comes first",
    run: async (stage) => {
      const talk = await stage.connected();
      const starting = stage.begin("start", { id: "echo" });
      const start = await talk.request("tasks.start");
      const cancelling = stage.begin("cancel");
      const cancel = await talk.request("tasks.cancel");
      talk.refuse(start, -32000, "cancelled by the bench");
      talk.answer(cancel, { cancelled: true });
      await stage.fails(starting, ["cancelled by the bench"]);
      await stage.ok(cancelling);
      const [first] = stage.over.filter((step) => step === starting.step || step === cancelling.step);
      if (first !== starting.step) {
        throw new Mismatch({
          sent: "both replies",
          expected: "the start to be over first",
          got: "cancel was",
        });
      }
    },
  },
  {
    rule: "CLI-5",
    name: "ping is sent while a start is pending",
    run: async (stage) => {
      const talk = await stage.connected();
      const starting = stage.begin("start", { id: "echo" });
      const start = await talk.request("tasks.start");
      const pinging = stage.begin("ping");
      talk.answer(await talk.request("ping"), {});
      await stage.ok(pinging);
      talk.answer(start, PROMPT);
      await stage.ok(starting);
    },
  },
  ...(["end", "reset"] as const).map((how): Scenario<ClientStage> => ({
    rule: "CLI-5",
    name: `a connection that is lost (${how}) fails the pending call at once, and later ones`,
    run: async (stage) => {
      const talk = await stage.connected();
      const starting = stage.begin("start", { id: "echo" });
      await talk.request("tasks.start");
      if (how === "end") talk.raw.end();
      else talk.raw.reset();
      await stage.fails(starting);
      await stage.fails(stage.begin("list"));
    },
  })),
  {
    rule: "CLI-5",
    name: "an error of one call leaves the others alone",
    run: async (stage) => {
      const talk = await stage.connected();
      const starting = stage.begin("start", { id: "nope" });
      talk.refuse(await talk.request("tasks.start"), -32602, "unknown task: 'nope'");
      await stage.fails(starting, ["-32602", "unknown task: 'nope'"]);
      await stage.answered(talk, ["list"], "tasks.list", { tasks: [] });
    },
  },
  {
    rule: "CLI-6",
    name: "closing sends no bye",
    run: async (stage) => {
      const talk = await stage.connected();
      await stage.answered(talk, ["start", { id: "echo" }], "tasks.start", PROMPT);
      const closing = stage.begin("close");
      await talk.closed("the end of the connection, and no bye before");
      talk.raw.end();
      await stage.ok(closing);
    },
  },
  {
    rule: "CLI-6",
    name: "bye sends it, and closes",
    run: async (stage) => {
      const talk = await stage.connected();
      const leaving = stage.begin("bye");
      talk.answer(await talk.request("bye"), { goodbye: true });
      talk.raw.end();
      await talk.closed("the client's end after goodbye");
      await stage.ok(leaving);
    },
  },
  {
    rule: "CLI-7",
    name: "an idle client pings, and not while a call is pending; an error frame is an answer",
    run: async (stage) => {
      const talk = await stage.connected(HELLO, { heartbeat: HEARTBEAT_MS });
      talk.answer(await talk.request("ping"), {});
      talk.refuse(await talk.request("ping"), -32000, "no pong in the bench");
      talk.answer(await talk.request("ping"), {});
      const starting = stage.begin("start", { id: "echo" });
      let start = await talk.line("tasks.start");
      // One that was on its way already may come before.
      for (let beats = 0; beats < 2 && start.includes('"ping"'); beats++) {
        talk.answer(JSON.parse(start) as { id: number; params: JsonObject }, {});
        start = await talk.line("tasks.start");
      }
      await stage.quiet(talk.raw, "no heartbeat while tasks.start is pending");
      talk.answer(JSON.parse(start) as { id: number; params: JsonObject }, PROMPT);
      await stage.ok(starting);
      await talk.request("ping");
    },
  },
  {
    rule: "CLI-7",
    name: "a server without ping gets hello with the own id as a heartbeat",
    run: async (stage) => {
      const talk = await stage.connected(OLD_HELLO, { heartbeat: HEARTBEAT_MS });
      for (let beats = 0; beats < 2; beats++) {
        const beat = await talk.request("hello");
        if (beat.params["session_id"] !== SESSION_ID) {
          throw talk.raw.mismatch(`hello with session_id ${SESSION_ID}`, JSON.stringify(beat.params));
        }
        if (beats === 0) talk.refuse(beat, -32600, "not now");
        else talk.answer(beat, OLD_HELLO);
      }
    },
  },
  {
    rule: "CLI-7",
    name: "a heartbeat that is not answered ends the connection",
    run: async (stage) => {
      const talk = await stage.connected(HELLO, { heartbeat: HEARTBEAT_MS });
      await talk.request("ping");
      await talk.raw.rest("the client to end the connection");
    },
  },
  {
    rule: "SESS-6",
    name: "a client asks for replay, and grades nothing blind",
    run: async (stage) => {
      const connecting = stage.begin("connect");
      const talk = await stage.session();
      const hello = await talk.request("hello");
      if (hello.params["replay"] !== true)
        throw talk.raw.mismatch('hello {"replay":true}', JSON.stringify(hello.params));
      talk.answer(hello, HELLO);
      await stage.ok(connecting);
      await stage.fails(stage.begin("grade", { answer: "a" }));
      await stage.answered(talk, ["list"], "tasks.list", { tasks: [] });
    },
  },
  {
    rule: "SESS-6",
    name: "after a lost grade the session is resumed by its id, and asked for the result",
    run: async (stage) => {
      const talk = await stage.connected();
      await stage.answered(talk, ["start", { id: "echo" }], "tasks.start", PROMPT);
      const grading = stage.begin("grade", { answer: "a" });
      await talk.request("tasks.grade");
      talk.raw.reset();
      await stage.fails(grading);
      const resuming = stage.begin("resume");
      const again = await stage.session();
      const hello = await again.request("hello");
      const { session_id: id, replay } = hello.params;
      if (id !== SESSION_ID || replay !== true) {
        throw again.raw.mismatch(
          `hello with session_id ${SESSION_ID} and replay`,
          JSON.stringify(hello.params),
        );
      }
      again.answer(hello, HELLO);
      await stage.ok(resuming);
      const retrying = stage.begin("grade", { answer: "a" });
      again.answer(await again.request("tasks.grade"), { score: 0.5 });
      await stage.has(retrying, { score: 0.5 });
    },
  },
];
