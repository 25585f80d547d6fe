import { isJsonObject } from "@envport/wire";
import type { Scenario } from "../_scenario.ts";
import type { Talk } from "../_talk.ts";
import type { ServerStage } from "./stage.ts";

const NO_TASK = { code: -32600, words: "no task in progress" };

/** Args of `typed-args` that are taken, and what the task must get. */
const GOOD_ARGS: readonly (readonly [sent: object, received: object])[] = [
  [{ count: 3 }, { count: 3, word: "w", flag: false, mode: "lower" }],
  [
    { count: -1, word: "x", flag: true, mode: "upper" },
    { count: -1, word: "x", flag: true, mode: "upper" },
  ],
  [{ count: "3" }, { count: 3, word: "w", flag: false, mode: "lower" }],
  [
    { count: 1, flag: "true" },
    { count: 1, word: "w", flag: true, mode: "lower" },
  ],
  [
    { count: 1, word: "7" },
    { count: 1, word: "7", flag: false, mode: "lower" },
  ],
  [
    { count: 1, mode: '"upper"' },
    { count: 1, word: "w", flag: false, mode: "upper" },
  ],
];

const BAD_ARGS: readonly object[] = [
  {},
  { count: "three" },
  { count: 1.5 },
  { count: null },
  { count: [] },
  { count: 1, flag: "maybe" },
  { count: 1, word: 7 },
  { count: 1, mode: "middle" },
];

async function entries(talk: Talk): Promise<Map<unknown, Record<string, unknown>>> {
  const { tasks } = await talk.result("tasks.list");
  const all: unknown[] = Array.isArray(tasks) ? tasks : [];
  return new Map(all.filter(isJsonObject).map((task) => [task["id"], task]));
}

/** Scenarios of TASK-1 to TASK-3: tasks until their prompt. */
export const START_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "TASK-1",
    name: "tasks.list tells ids in order, descriptions, and what the args must be",
    needs: ["echo", "typed-args", "frame"],
    run: async (stage) => {
      const talk = await stage.session();
      const tasks = await entries(talk);
      for (const [id, { description, args }] of tasks) {
        const whole = typeof id === "string" && typeof description === "string" && isJsonObject(args);
        talk.check(
          whole && args["type"] === "object",
          "id, description, and args that are an object schema",
          { id, description, args },
        );
      }
      const { args } = tasks.get("typed-args")!;
      const { properties, required } = args as { properties?: unknown; required?: unknown };
      const named =
        isJsonObject(properties) && Object.keys(properties).sort().join() === "count,flag,label,mode,word";
      talk.check(named, "properties count, word, flag, mode and label", args);
      talk.check(
        JSON.stringify(required) === '["count"]',
        "only 'count' to be required: the others have defaults",
        args,
      );
      const none = tasks.get("frame")!["args"] as Record<string, unknown>;
      const empty = JSON.stringify(none["properties"]) === "{}" && none["additionalProperties"] === false;
      talk.check(empty, "properties {} and additionalProperties false for a task without args", none);
      const ids = [...tasks.keys()];
      talk.check(
        ids.indexOf("echo") < ids.indexOf("ledger"),
        "the order of registration: echo before ledger",
        ids,
      );
    },
  },
  {
    rule: "TASK-1",
    name: "tasks.list tells what a typed answer must be",
    needs: ["typed-answer"],
    run: async (stage) => {
      const talk = await stage.session();
      const { returns } = (await entries(talk)).get("typed-answer")!;
      const properties = isJsonObject(returns) ? returns["properties"] : undefined;
      talk.check(
        isJsonObject(properties) && "city" in properties,
        "returns, a schema with the property 'city'",
        returns,
      );
    },
  },
  {
    rule: "TASK-2",
    name: "a yield with a prompt is the frame as it is, anything else becomes the prompt",
    needs: ["frame", "typed-args", "echo"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.exactly("tasks.start", { id: "frame" }, { prompt: "framed", extra: { kept: true } });
      await talk.exactly("tasks.start", { id: "echo", args: { text: "hi" } }, { prompt: "hi" });
      const prompt = { count: 1, word: "w", flag: false, mode: "lower" };
      await talk.exactly("tasks.start", { id: "typed-args", args: { count: 1 } }, { prompt });
    },
  },
  {
    rule: "TASK-2",
    name: "a start replaces the earlier task, whose clean-up has finished before",
    needs: ["slow-end", "echo", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      await talk.start("slow-end", { ms: 100, label });
      await talk.start("echo", { label, score: 2 });
      const events = (await stage.events(label)).filter((event) => event !== "hook").join(" ");
      talk.check(
        events === "start prompt end start prompt",
        "start prompt end, and then start prompt",
        events,
      );
      await talk.exactly("tasks.grade", {}, { score: 2 });
    },
  },
  {
    rule: "TASK-2",
    name: "the earlier task is cancelled even if the new start fails",
    needs: ["echo", "throw-start", "ledger"],
    alone: true,
    run: async (stage) => {
      const talk = await stage.session();
      for (const id of ["throw-start", "no-such-task"]) {
        const label = stage.label();
        await talk.start("echo", { label });
        await talk.call("tasks.start", { id });
        const events = await stage.events(label);
        talk.check(events.includes("end"), `the earlier task to be over after the start of ${id}`, events);
        await talk.error("tasks.grade", {}, NO_TASK);
      }
    },
  },
  {
    rule: "TASK-2",
    name: "the earlier task is cancelled even if the new args do not validate",
    source: "strict",
    needs: ["echo", "typed-args", "ledger"],
    alone: true,
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      await talk.start("echo", { label });
      await talk.error("tasks.start", { id: "typed-args", args: { count: "x" } }, { code: -32602 });
      const events = await stage.events(label);
      talk.check(events.includes("end"), "the earlier task to be over", events);
      await talk.error("tasks.grade", {}, NO_TASK);
    },
  },
  {
    rule: "TASK-2",
    name: "a start with an id or args of the wrong type leaves the earlier task alone",
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.start("echo", { score: 4 });
      for (const params of [
        {},
        { id: 5 },
        { id: null },
        { id: "echo", args: [] },
        { id: "echo", args: "x" },
      ]) {
        await talk.error("tasks.start", params, { code: -32602 });
      }
      await talk.exactly("tasks.grade", {}, { score: 4 });
    },
  },
  {
    rule: "TASK-3",
    name: "args get their types and defaults; a string is parsed where another type is wanted",
    needs: ["typed-args"],
    run: async (stage) => {
      const talk = await stage.session();
      for (const [args, prompt] of GOOD_ARGS) {
        await talk.exactly("tasks.start", { id: "typed-args", args }, { prompt });
      }
    },
  },
  {
    rule: "TASK-3",
    name: "what does not validate, and an unknown name, is refused before any code of the task runs",
    source: "strict",
    needs: ["typed-args", "frame", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      for (const args of [...BAD_ARGS, { count: 1, nosuch: 1 }]) {
        await talk.error("tasks.start", { id: "typed-args", args: { label, ...args } }, { code: -32602 });
      }
      await talk.error("tasks.start", { id: "frame", args: { nosuch: 1 } }, { code: -32602 });
      await stage.checkEvents(label, "", "starts whose args do not validate");
    },
  },
];
