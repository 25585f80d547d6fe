import { isJsonObject } from "@envport/wire";
import type { Scenario } from "../_scenario.ts";
import type { ServerStage } from "./stage.ts";

const NO_TASK = { code: -32600, words: "no task in progress" };

const ANSWERS: readonly unknown[] = [
  "text",
  "",
  "7",
  7,
  0.5,
  true,
  null,
  [1, "a"],
  { a: { b: [] } },
  "é\u2028\n",
];

/** Kinds of the task `evaluate` that are evaluations, and the frames that must come. */
const EVALUATIONS: readonly (readonly [kind: string, frame: Record<string, unknown>])[] = [
  ["integer", { score: 1 }],
  ["fraction", { score: 0.25 }],
  ["negative", { score: -2 }],
  ["true", { score: 1 }],
  ["false", { score: 0 }],
  ["object", { score: 0.5, note: "kept" }],
  ["nothing", { score: 0 }],
];

/** Kinds that are none. */
const NO_EVALUATIONS: readonly string[] = ["text", "null", "array", "reward-object", "text-score"];

/** Scenarios of TASK-4 to TASK-6: answers and evaluations. */
export const GRADE_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "TASK-4",
    name: "an untyped task gets the answer as it was sent",
    needs: ["echo-answer"],
    run: async (stage) => {
      const talk = await stage.session();
      for (const answer of ANSWERS) {
        await talk.start("echo-answer");
        const { received } = await talk.result("tasks.grade", { answer });
        talk.check(
          JSON.stringify(received) === JSON.stringify(answer),
          `the answer ${JSON.stringify(answer)}`,
          received,
        );
      }
      await talk.start("echo-answer");
      const { received } = await talk.result("tasks.grade", {});
      talk.check((received ?? null) === null, "no answer", received);
    },
  },
  {
    rule: "TASK-4",
    name: "a typed task gets the answer parsed and raw, and the raw text where it does not parse",
    needs: ["typed-answer"],
    run: async (stage) => {
      const talk = await stage.session();
      const city = { city: "Oslo" };
      const text = JSON.stringify(city);
      for (const [answer, content, raw] of [
        [text, city, text],
        ["Oslo", "Oslo", "Oslo"],
        ['{"town":1}', '{"town":1}', '{"town":1}'],
        ["", "", ""],
      ]) {
        await talk.start("typed-answer");
        await talk.exactly("tasks.grade", { answer }, { score: 1, content, raw });
      }
      await talk.start("typed-answer");
      await talk.exactly("tasks.grade", {}, { score: 1, content: "", raw: "" });
    },
  },
  {
    rule: "TASK-4",
    name: "a typed task gets the JSON of an answer that is no string as its raw text",
    needs: ["typed-answer"],
    run: async (stage) => {
      const talk = await stage.session();
      const city = { city: "Oslo" };
      await talk.start("typed-answer");
      const { content, raw } = await talk.result("tasks.grade", { answer: city });
      talk.check(isJsonObject(content) && content["city"] === "Oslo", "the content, validated", content);
      let parsed: unknown;
      try {
        parsed = JSON.parse(String(raw));
      } catch {
        // Told below.
      }
      talk.check(
        isJsonObject(parsed) && parsed["city"] === "Oslo",
        `raw to be the JSON ${JSON.stringify(city)}`,
        raw,
      );
    },
  },
  {
    rule: "TASK-4",
    name: "other members of the params reach the task",
    source: "more",
    needs: ["echo-answer"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.start("echo-answer");
      const { params } = await talk.result("tasks.grade", { answer: "a", attempt: 2 });
      talk.check(JSON.stringify(params) === '{"attempt":2}', 'params {"attempt":2} in the task', params);
    },
  },
  {
    rule: "TASK-5",
    name: "numbers, booleans and objects with a score are evaluations; none at all scores 0",
    needs: ["evaluate", "frame"],
    run: async (stage) => {
      const talk = await stage.session();
      for (const [kind, frame] of EVALUATIONS) {
        await talk.start("evaluate", { kind });
        await talk.exactly("tasks.grade", {}, frame);
      }
      await talk.start("frame");
      await talk.exactly("tasks.grade", {}, { score: 0 });
    },
  },
  {
    rule: "TASK-5",
    name: "a whole evaluation crosses with its subscores, its reward as the score",
    needs: ["evaluate"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.start("evaluate", { kind: "evaluation" });
      const result = await talk.result("tasks.grade", {});
      const { score, done, content, info, isError, subscores, reward } = result;
      const told =
        score === 0.75 && done === true && content === "told" && isError === false && reward === undefined;
      talk.check(told, "score 0.75, done, content 'told', isError false, and no reward", result);
      talk.check(isJsonObject(info) && info["seen"] === 3, "info {seen: 3}", info);
      const all: unknown[] = Array.isArray(subscores) ? subscores : [];
      const names = all.map((one) => isJsonObject(one) && [one["name"], one["value"], one["weight"]].join());
      talk.check(
        names.join(" ") === "first,1,0.5 second,0.5,0.5",
        "both subscores: name, value and weight",
        subscores,
      );
    },
  },
  {
    rule: "TASK-5",
    name: "anything else is an error, and the task is over",
    needs: ["evaluate"],
    alone: true,
    run: async (stage) => {
      const talk = await stage.session();
      for (const kind of NO_EVALUATIONS) {
        await talk.start("evaluate", { kind });
        await talk.error("tasks.grade", {}, { code: -32000 });
        await talk.error("tasks.grade", {}, NO_TASK);
      }
    },
  },
  {
    rule: "TASK-5",
    name: "NaN and infinities are refused",
    source: "strict",
    needs: ["evaluate"],
    run: async (stage) => {
      const talk = await stage.session();
      for (const kind of ["nan", "infinity"]) {
        await talk.start("evaluate", { kind });
        await talk.error("tasks.grade", {}, { code: -32000 });
      }
    },
  },
  {
    rule: "TASK-6",
    name: "clean-up and hooks have run when the reply to a grade comes, also to one that fails",
    needs: ["slow-end", "throw-grade", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      await talk.start("slow-end", { ms: 100, label });
      await talk.exactly("tasks.grade", {}, { score: 1 });
      await stage.checkEvents(label, "start prompt grade graded end hook", "tasks.grade of slow-end");
      const failing = stage.label();
      await talk.start("throw-grade", { label: failing });
      await talk.error("tasks.grade", {}, { code: -32000 });
      await stage.checkEvents(failing, "start prompt grade end hook", "tasks.grade of throw-grade");
    },
  },
];
