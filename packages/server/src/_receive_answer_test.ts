import { type } from "arktype";
import { expect, test } from "vitest";
import { z } from "zod";
import { receiveAnswer } from "./_receive_answer.ts";
import type { Schema } from "./schema.ts";

const POINT = z.object({ x: z.number(), y: z.number().default(0) });

test.each(["text", "", "42", 42, 0, null, true, ["a"], { a: 1 }])(
  "TASK-4: an untyped task receives the answer as it is: %j",
  async (answer) => {
    expect(await receiveAnswer(undefined, { answer })).toEqual(answer);
  },
);

test("TASK-4: an untyped task receives undefined where no answer was sent", async () => {
  expect(await receiveAnswer(undefined, {})).toBe(undefined);
  expect(await receiveAnswer(undefined, JSON.parse('{"__proto__":{"answer":1}}') as object as never)).toBe(
    undefined,
  );
});

const TYPED: [what: string, schema: Schema, answer: unknown, content: unknown, raw: string][] = [
  ["JSON text", POINT, '{"x": 1}', { x: 1, y: 0 }, '{"x": 1}'],
  ["a JSON value", POINT, { x: 1, y: 2 }, { x: 1, y: 2 }, '{"x":1,"y":2}'],
  ["text that is no JSON", POINT, "x is 1", "x is 1", "x is 1"],
  ["JSON that does not validate", POINT, '{"x": "1"}', '{"x": "1"}', '{"x": "1"}'],
  ["a value that does not validate", POINT, { z: 1 }, '{"z":1}', '{"z":1}'],
  ["a number as text", z.number(), "42", 42, "42"],
  ["a number", type("number"), 42, 42, "42"],
  ["a plain string", z.string(), "hello", "hello", "hello"],
  ["a string in quotes", z.string(), '"hello"', "hello", '"hello"'],
  ["a number where a string is wanted", z.string(), "42", "42", "42"],
  ["null", z.null(), null, null, "null"],
  ["a boolean", z.boolean(), false, false, "false"],
  [
    "a date that is made of text",
    z.iso.date().transform((text) => text.length),
    '"2026-01-01"',
    10,
    '"2026-01-01"',
  ],
];
test.each(TYPED)(
  "TASK-4: a typed task receives %s as content and raw",
  async (_, schema, answer, content, raw) => {
    expect(await receiveAnswer(schema, { answer })).toEqual({ content, raw });
  },
);

test("TASK-4: a typed task receives empty strings where no answer was sent", async () => {
  expect(await receiveAnswer(z.number(), {})).toEqual({ content: "", raw: "" });
  expect(await receiveAnswer(z.string().optional(), {})).toEqual({ content: "", raw: "" });
});

test("TASK-4: an answer that makes the schema throw is what could not be validated", async () => {
  const schema = z.string().transform((text) => (JSON.parse(text) as { x: number }).x);
  expect(await receiveAnswer(schema, { answer: '"nope"' })).toEqual({ content: '"nope"', raw: '"nope"' });
});
