import { Mismatch } from "../_mismatch.ts";
import type { Scenario } from "../_scenario.ts";
import { Talk } from "../_talk.ts";
import type { ServerStage } from "./stage.ts";

/** Ways to be refused: what is called, with what, and what the error is. */
const REFUSALS: readonly {
  method: string;
  params: object;
  code: number;
  words: string | RegExp;
  type?: string;
  alone?: true;
}[] = [
  { method: "no.such.method", params: {}, code: -32601, words: "method not found: no.such.method" },
  {
    method: "tasks.start",
    params: { id: "no-such-task" },
    code: -32602,
    words: "unknown task: 'no-such-task'",
    type: "unknown-task",
  },
  { method: "tasks.start", params: { id: 5 }, code: -32602, words: "id" },
  { method: "tasks.start", params: { id: "echo", args: [] }, code: -32602, words: "args" },
  { method: "hello", params: { session_id: 5 }, code: -32602, words: "session_id" },
  {
    method: "hello",
    params: { session_id: "sess-ffffffff" },
    code: -32600,
    words: "unknown session: 'sess-ffffffff'",
    type: "unknown-session",
  },
];

/** Parts of a stack trace, a path, or what an operating system says. */
const LEAK_REGEXP =
  /fixture-secret|\n\s*at |File "|Traceback|\/\w+\/\w+|no such file|connect call failed|127\.0\.0\.1/i;

/** Scenarios of "Errors". */
export const ERROR_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "ERR-1",
    name: "errors have the code of the table and a message",
    run: async (stage) => {
      const talk = await stage.session();
      for (const { method, params, code } of REFUSALS) {
        const { message } = await talk.error(method, params, { code });
        talk.check(message !== "", "a message", message);
      }
    },
  },
  {
    rule: "ERR-1",
    name: "errors carry a machine-readable type",
    source: "more",
    needs: ["echo", "typed-args"],
    run: async (stage) => {
      const talk = await stage.session();
      for (const { method, params, code, type } of REFUSALS) {
        if (type !== undefined) await talk.error(method, params, { code, type });
      }
      const other = await stage.session();
      await other.start("echo");
      const live = { session_id: other.sessionId };
      await talk.error("hello", live, { code: -32600, type: "live-session" });
      const wrong = { id: "typed-args", args: { count: "three" } };
      const { data } = await talk.error("tasks.start", wrong, { code: -32602, type: "invalid-args" });
      const paths = Array.isArray(data["issues"]) ? JSON.stringify(data["issues"]) : "";
      talk.check(paths.includes('"count"'), "issues with the path of 'count'", data);
    },
  },
  {
    rule: "ERR-1",
    name: "errors about sessions without a task carry a machine-readable type",
    source: "more",
    alone: true,
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.error("tasks.grade", {}, { code: -32600, type: "no-task" });
      await stage.park();
      await stage.park();
      await talk.error("tasks.grade", {}, { code: -32600, type: "ambiguous" });
    },
  },
  {
    rule: "ERR-1",
    name: "errors about tunnels carry a machine-readable type",
    source: "more",
    needs: ["refused"],
    run: async (stage) => {
      for (const [capability, type] of [
        ["no-such-binding", "unknown-capability"],
        ["refused", "dial-failed"],
      ]) {
        const talk = new Talk(await stage.raw());
        await talk.error("tunnel.open", { capability }, { code: -32000, type: type! });
      }
    },
  },
  {
    rule: "ERR-2",
    name: "messages about methods, tasks and sessions keep their words",
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.session();
      for (const { method, params, code, words } of REFUSALS)
        await talk.error(method, params, { code, words });
      const other = await stage.session();
      await other.start("echo");
      const words = `session '${other.sessionId}' has a live connection`;
      await talk.error("hello", { session_id: other.sessionId }, { code: -32600, words });
    },
  },
  {
    rule: "ERR-2",
    name: "messages about what is parked keep their words",
    alone: true,
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.error("tasks.grade", {}, { code: -32600, words: /^no task in progress$/ });
      const ids = [await stage.park(), await stage.park()].sort().join(", ");
      const words = `2 parked sessions (${ids}); resume one by sending hello with its session_id`;
      await talk.error("tasks.grade", {}, { code: -32600, words });
    },
  },
  {
    rule: "ERR-2",
    name: "a bad grade and an unknown capability are told in the words that peers match on",
    needs: ["evaluate"],
    run: async (stage) => {
      const talk = await stage.session();
      for (const [kind, words] of [
        ["text", "yield a number"],
        ["reward-object", "'score'"],
      ]) {
        await talk.start("evaluate", { kind });
        await talk.error("tasks.grade", {}, { code: -32000, words: words! });
      }
      const tunnel = new Talk(await stage.raw());
      const words = "unknown capability: 'no-such-binding'";
      await tunnel.error("tunnel.open", { capability: "no-such-binding" }, { code: -32000, words });
    },
  },
  {
    rule: "ERR-3",
    name: "the message of an error that a task throws crosses the wire",
    source: "base",
    needs: ["throw-start", "throw-grade"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.error(
        "tasks.start",
        { id: "throw-start" },
        { code: -32000, words: "fixture failed at start" },
      );
      await talk.start("throw-grade");
      await talk.error("tasks.grade", {}, { code: -32000, words: "fixture failed in grade" });
    },
  },
  {
    rule: "ERR-3",
    name: "no stack trace, path or text of a system error crosses the wire",
    needs: ["throw-start", "system-error", "refused"],
    run: async (stage) => {
      const talk = await stage.session();
      const tunnel = new Talk(await stage.raw());
      const errors = [
        await talk.error("tasks.start", { id: "throw-start" }, { code: -32000 }),
        await talk.error("tasks.start", { id: "system-error" }, { code: -32000, words: "ENOENT" }),
        await tunnel.error("tunnel.open", { capability: "refused" }, { code: -32000, words: "ECONNREFUSED" }),
      ];
      for (const { message, data } of errors) {
        const text = `${message} ${JSON.stringify(data)}`;
        const leak = LEAK_REGEXP.exec(text)?.[0];
        if (leak === undefined) continue;
        throw new Mismatch({
          sent: "calls that fail",
          expected: `no error with ${JSON.stringify(leak)}`,
          got: text,
        });
      }
    },
  },
];
