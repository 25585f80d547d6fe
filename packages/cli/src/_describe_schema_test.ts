import { expect, test } from "vitest";
import { argumentLines, argumentsInLine } from "./_describe_schema.ts";

const task = (
  properties: Record<string, unknown>,
  required: string[] = [],
): Parameters<typeof argumentLines>[0] => ({
  id: "t",
  description: "",
  args: { type: "object", properties, required },
});

test.each<[unknown, string]>([
  [{ type: "string" }, "string"],
  [{ enum: ["a", 1, null] }, '"a" | 1 | null'],
  [{ const: "x" }, '"x"'],
  [{ type: ["string", "null"] }, "string | null"],
  [{ type: "array", items: { type: "number" } }, "number[]"],
  [{ type: "array", items: { anyOf: [{ type: "number" }, { type: "string" }] } }, "(number | string)[]"],
  [{ type: "array" }, "array"],
  [{ oneOf: [{ type: "boolean" }, true] }, "boolean | any"],
  [{}, "any"],
  [true, "any"],
])("the schema %j is told as %s", (schema, type) => {
  expect(argumentsInLine(task({ x: schema }, ["x"]))).toBe(`{x: ${type}}`);
});

test("what is required, what has a default and what is described is told in columns", () => {
  const properties = {
    a: { type: "number", description: "The first" },
    long: { type: "string", default: "x y" },
    c: { type: "boolean" },
  };
  expect(argumentLines(task(properties, ["a"]))).toEqual([
    "a     number   required  The first",
    'long  string   default "x y"',
    "c     boolean  optional",
  ]);
  expect(argumentLines(task({}))).toEqual([]);
  expect(argumentsInLine({ ...task({}), args: {} })).toBe("");
});
