import { Mismatch } from "../_mismatch.ts";
import { until } from "../_patience.ts";
import { RawConnection } from "../_raw_connection.ts";
import type { Scenario } from "../_scenario.ts";
import { FOREVER_MS, ServerStage } from "./stage.ts";

const NO_TASK = { code: -32600, words: "no task in progress" };
/** How long a task takes that is waited for, in milliseconds. */
const SHORT_MS = 150;

/** Scenarios of TASK-7 to TASK-10 and of SESS-11: failures, cancel, time-outs, progress, and order. */
export const CONTROL_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "TASK-7",
    name: "a start that throws is an error with its message; its clean-up runs, and no task is left",
    needs: ["throw-start", "ledger"],
    alone: true,
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      const words = "fixture failed at start";
      await talk.error("tasks.start", { id: "throw-start", args: { label } }, { code: -32000, words });
      await stage.checkEvents(label, "start end hook", "tasks.start of throw-start");
      await talk.error("tasks.grade", {}, NO_TASK);
    },
  },
  {
    rule: "TASK-7",
    name: "a generator without a first yield is an error that says so, and no task is left",
    needs: ["no-prompt"],
    alone: true,
    run: async (stage) => {
      const talk = await stage.session();
      const words = "task 'no-prompt' yielded no prompt";
      await talk.error("tasks.start", { id: "no-prompt" }, { code: -32000, words });
      await talk.error("tasks.grade", {}, NO_TASK);
    },
  },
  {
    rule: "TASK-8",
    name: "cancel ends the suspended task, and is fine without one",
    needs: ["slow-end", "ledger"],
    alone: true,
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      await talk.exactly("tasks.cancel", {}, { cancelled: true });
      await talk.start("slow-end", { ms: 100, label });
      await talk.exactly("tasks.cancel", {}, { cancelled: true });
      await stage.checkEvents(label, "start prompt end hook", "tasks.cancel of a suspended task");
      await talk.error("tasks.grade", {}, NO_TASK);
    },
  },
  ...(["slow-start", "slow-grade"] as const).map((id): Scenario<ServerStage> => ({
    rule: "TASK-8",
    name: `cancel during ${id === "slow-start" ? "a start" : "a grade"} aborts it: its error comes, then the reply`,
    source: "more",
    needs: [id, "echo", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      const args = { ms: FOREVER_MS, label };
      let pending = talk.request("tasks.start", { id, args });
      if (id === "slow-grade") {
        await talk.resultOf(pending);
        pending = talk.request("tasks.grade", { answer: "A" });
      }
      await stage.untilEvent(label, id === "slow-start" ? "start" : "grade", `a call of ${id}`);
      const cancel = talk.request("tasks.cancel");
      await talk.errorOf(pending, { code: -32000, type: "cancelled" });
      await talk.resultOf(cancel);
      const events = await stage.events(label);
      talk.check(events.includes("end"), "clean-up before the reply to tasks.cancel", events);
      await talk.start("echo");
      await talk.exactly("tasks.grade", {}, { score: 1 });
    },
  })),
  {
    rule: "TASK-8",
    name: "a task that ignores its signal is abandoned",
    source: "more",
    needs: ["ignore-signal", "echo", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      const pending = talk.request("tasks.start", { id: "ignore-signal", args: { label } });
      await stage.untilEvent(label, "start", "tasks.start of ignore-signal");
      const cancel = talk.request("tasks.cancel");
      await talk.errorOf(pending, { code: -32000, type: "cancelled" });
      await talk.resultOf(cancel);
      await talk.start("echo");
      await talk.exactly("tasks.grade", {}, { score: 1 });
    },
  },
  {
    rule: "TASK-9",
    name: "a task that takes too long fails with a time-out, and is over",
    needs: ["timeout"],
    alone: true,
    run: async (stage) => {
      const talk = await stage.session();
      await talk.error(
        "tasks.start",
        { id: "timeout", args: { where: "start" } },
        { code: -32000, type: "timeout" },
      );
      await talk.error("tasks.grade", {}, NO_TASK);
      await talk.start("timeout", { where: "grade" });
      await talk.error("tasks.grade", {}, { code: -32000, type: "timeout" });
      await talk.error("tasks.grade", {}, NO_TASK);
    },
  },
  {
    rule: "TASK-10",
    name: "ping is answered with an empty object",
    run: async (stage) => {
      const talk = await stage.session();
      await talk.exactly("ping", {}, {});
      await (await stage.connect()).exactly("ping", undefined, {});
    },
  },
  {
    rule: "TASK-10",
    name: "progress is told to whoever asked for it, before the reply, and to nobody else",
    needs: ["progress"],
    run: async (stage) => {
      const quiet = await stage.session();
      await quiet.start("progress");
      const talk = await stage.session({ progress: true });
      const id = talk.request("tasks.start", { id: "progress" });
      const { method, params, ...others } = await talk.frame("a tasks.progress notification");
      const told =
        method === "tasks.progress" && JSON.stringify(params) === '{"message":"halfway","fraction":0.5}';
      talk.check(told, 'tasks.progress {"message":"halfway","fraction":0.5}', { method, params });
      talk.check(!("id" in others), "a notification without an id", others);
      await talk.resultOf(id);
    },
  },
  {
    rule: "SESS-11",
    name: "ping and hello are answered while a start is running",
    needs: ["slow-start", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      const start = talk.request("tasks.start", { id: "slow-start", args: { ms: FOREVER_MS, label } });
      await stage.untilEvent(label, "start", "tasks.start of slow-start");
      await talk.exactly("ping", {}, {});
      await talk.result("hello", {});
      await talk.result("hello", { session_id: talk.sessionId });
      const cancel = talk.request("tasks.cancel");
      await talk.errorOf(start, { code: -32000 });
      await talk.resultOf(cancel);
    },
  },
  {
    rule: "SESS-11",
    name: "the other requests run in order, one after the other, bye at its place",
    needs: ["slow-start", "slow-grade", "echo"],
    run: async (stage) => {
      const talk = await stage.session();
      const ids = [
        talk.request("tasks.start", { id: "slow-start", args: { ms: SHORT_MS } }),
        talk.request("tasks.list"),
        talk.request("tasks.grade", { answer: "A" }),
        talk.request("tasks.start", { id: "slow-grade", args: { ms: SHORT_MS } }),
        talk.request("tasks.grade", {}),
        talk.request("tasks.start", { id: "echo" }),
        talk.request("bye"),
      ];
      for (const id of ids) await talk.resultOf(id);
      await talk.closed("the end after goodbye");
    },
  },
  {
    rule: "TASK-11",
    name: "a server that is told to stop cleans live and parked tasks up, and is gone",
    needs: ["echo", "slow-start"],
    run: async (stage) => {
      const launched = await stage.launch();
      const other = new ServerStage({ ...stage.facts, address: launched.address, launched });
      try {
        const labels = ["live", "parked", "starting"];
        const talk = await other.session();
        await talk.start("echo", { label: "live" });
        await other.park({ label: "parked" });
        const starting = await other.session();
        starting.request("tasks.start", { id: "slow-start", args: { ms: FOREVER_MS, label: "starting" } });
        const told = { sent: "SIGTERM to a server with a live, a parked and a starting task" };
        const wanted = (event: string): string[] => labels.map((label) => `${label} ${event}`);
        const has = (lines: string[], event: string): boolean =>
          wanted(event).every((line) => lines.includes(line));
        await until(
          () => launched.ledger(),
          (lines) => has(lines, "start"),
          stage.patience,
          {
            sent: "three starts",
            expected: "the fixture to write them where CONFORMANCE_LEDGER says",
          },
        );
        const code = await launched.stop();
        if (code === undefined) throw new Mismatch({ ...told, expected: "it to end", got: "it still runs" });
        const lines = await launched.ledger();
        if (!has(lines, "end")) {
          throw new Mismatch({
            ...told,
            expected: `the clean-up of ${labels.join(", ")}`,
            got: lines.join(", "),
          });
        }
        await talk.raw.rest("the end of the connection");
        const left = await RawConnection.connect(launched.address, stage.patience).catch(() => undefined);
        if (left) throw new Mismatch({ ...told, expected: "nobody to listen any more", got: "a connection" });
      } finally {
        await other.close();
        await launched.end();
      }
    },
  },
];
