import { type } from "arktype";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Frame } from "./_testing.ts";
import { passThrough, served } from "./_testing.ts";
import { TaskArgs } from "./_task_args.ts";
import { Environment } from "./environment.ts";
import type { Schema } from "./schema.ts";

function published(schema: Schema | undefined): Frame {
  return new TaskArgs(schema, "the args of task 't'").published;
}

async function parse(schema: Schema | undefined, args: object): Promise<unknown> {
  return await new TaskArgs(schema, "the args").parse(args as Record<string, unknown>, "t");
}

async function issues(
  schema: Schema | undefined,
  args: object,
): Promise<{ path: unknown[]; message: string }[]> {
  const error = await parse(schema, args).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: -32602, data: { type: "invalid-args" } });
  return (error as { data: { issues: { path: unknown[]; message: string }[] } }).data.issues;
}

/** A schema that takes anything and is described by hand. */
function described(schema: Record<string, unknown>): Schema {
  const input = (): Record<string, unknown> => schema;
  return { "~standard": { ...passThrough()["~standard"], jsonSchema: { input, output: input } } };
}

const SUITE = z.object({
  suite: z.enum(["unit", "e2e"]).default("unit"),
  n: z.number().optional(),
  name: z.string(),
  tags: z.array(z.number()).default([]),
  deep: z.object({ flag: z.boolean() }).optional(),
});

describe("tasks.list", () => {
  test("TASK-1: tasks are listed in order of registration, with description, args, input and returns", async () => {
    const env = new Environment();
    env
      .template("b", {
        description: "The second letter",
        args: SUITE,
        returns: z.number(),
        input: z.string(),
      })
      .run(async function* () {});
    env.template("a").run(async function* () {});
    const { connect } = await served(env);
    const { tasks } = await (await connect()).result("tasks.list");
    expect(tasks).toEqual([
      {
        id: "b",
        description: "The second letter",
        args: published(SUITE),
        input: { type: "string" },
        returns: { type: "number" },
      },
      { id: "a", description: "", args: { type: "object", properties: {}, additionalProperties: false } },
    ]);
  });

  test("TASK-1: args are the input side of the schema: a defaulted key is not required", () => {
    expect(published(SUITE)).toMatchObject({
      type: "object",
      required: ["name"],
      additionalProperties: false,
      properties: {
        suite: { type: "string", enum: ["unit", "e2e"], default: "unit" },
        name: { type: "string" },
      },
    });
    expect(published(z.object({ at: z.string().transform(Number) }))).toMatchObject({
      properties: { at: { type: "string" } },
    });
    const ark = published(type({ name: "string", "n?": "number", suite: "string = 'unit'" }));
    expect(ark).toMatchObject({ type: "object", required: ["name"], additionalProperties: false });
    expect(Object.keys(ark["properties"]).sort()).toEqual(["n", "name", "suite"]);
  });

  test("TASK-1: args are always an object schema, whatever describes them", () => {
    expect(published(undefined)).toEqual({ type: "object", properties: {}, additionalProperties: false });
    expect(published(z.looseObject({ a: z.number() }))).toMatchObject({
      type: "object",
      additionalProperties: {},
    });
    expect(published(z.record(z.string(), z.number()))).toMatchObject({
      type: "object",
      additionalProperties: { type: "number" },
    });
    const union = published(z.union([z.object({ a: z.number() }), z.object({ b: z.number() })]));
    expect(union).toMatchObject({ type: "object", anyOf: [{}, {}] });
    expect(union).not.toHaveProperty("additionalProperties");
    const parts = { properties: { a: {} }, allOf: [{ type: "object", properties: { b: {} } }] };
    expect(published(described({ type: "object", ...parts }))).toEqual({ type: "object", ...parts });
    expect(() => published(z.string())).toThrow(
      /the args of task 't' .* object: current value is|must describe an object/,
    );
  });

  test.each([
    ["a plain object", { type: "object" }],
    [
      "a schema without JSON Schema",
      { "~standard": { version: 1, vendor: "x", validate: () => ({ value: 1 }) } },
    ],
    ["a schema that JSON Schema cannot express", z.object({ at: z.date() })],
  ])("TASK-1: %s is refused when the task is registered", (_, schema) => {
    const env = new Environment();
    const register = () =>
      env.template("t", { args: schema as unknown as Schema }).run(async function* () {});
    expect(register).toThrow(TypeError);
    expect(register).toThrow(/the args of task 't'/);
    expect(env.templates.size).toBe(0);
  });
});

describe("validation", () => {
  test("TASK-3: args get their defaults and types before any code of the task runs", async () => {
    const seen: unknown[] = [];
    const env = new Environment();
    env.template("t", { args: SUITE }).run(async function* (args) {
      seen.push(args);
      yield "p";
    });
    const { connect } = await served(env);
    const client = await connect();
    await client.result("tasks.start", { id: "t", args: { name: "n" } });
    expect(seen).toEqual([{ suite: "unit", name: "n", tags: [] }]);
    const error = await client.error("tasks.start", { id: "t", args: { name: "n", n: "x" } });
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("n: "),
      data: { type: "invalid-args", issues: [{ path: ["n"], message: expect.any(String) }] },
    });
    expect(await client.error("tasks.start", { id: "t" })).toMatchObject({
      data: { issues: [{ path: ["name"] }] },
    });
    expect(seen.length).toBe(1);
  });

  test.each([
    ["a number", { name: "n", n: "3" }, { n: 3 }],
    ["an enum in quotes", { name: "n", suite: '"e2e"' }, { suite: "e2e" }],
    ["an array", { name: "n", tags: "[1, 2]" }, { tags: [1, 2] }],
    ["an array of strings", { name: "n", tags: '["1", "2"]' }, { tags: [1, 2] }],
    ["an object", { name: "n", deep: '{"flag": true}' }, { deep: { flag: true } }],
    ["an object with a string", { name: "n", deep: '{"flag": "true"}' }, { deep: { flag: true } }],
    ["what is in a nested object", { name: "n", deep: { flag: "false" } }, { deep: { flag: false } }],
  ])("TASK-3: a string is parsed as JSON where another type is wanted: %s", async (_, args, parsed) => {
    expect(await parse(SUITE, args)).toMatchObject(parsed);
  });

  test("TASK-3: a string stays a string where one is wanted", async () => {
    expect(await parse(SUITE, { name: "3" })).toMatchObject({ name: "3" });
    expect(await parse(type({ name: "string", "n?": "number" }), { name: "3", n: "3" })).toEqual({
      name: "3",
      n: 3,
    });
  });

  test("TASK-3: what does not validate is named with its path, in its own words", async () => {
    const found = await issues(SUITE, { n: "x", deep: { flag: "maybe" }, tags: "[1,", name: 5 });
    expect(found.map(({ path }) => path.join("."))).toEqual(
      expect.arrayContaining(["n", "deep.flag", "tags", "name"]),
    );
    expect((await issues(type({ n: "number" }), { n: "x" }))[0]!.path).toEqual(["n"]);
  });

  test.each([
    ["no args", undefined],
    ["an object that strips", z.object({ a: z.number().optional() })],
    ["a strict object", z.strictObject({ a: z.number().optional() })],
    ["an arktype", type({ "a?": "number" })],
    ["a union", z.union([z.object({ a: z.number() }), z.object({ b: z.number() })])],
    [
      "an intersection",
      z.intersection(z.object({ a: z.number().optional() }), z.object({ b: z.number().optional() })),
    ],
  ])("TASK-3: an unknown name is refused, also where the schema would strip it: %s", async (_, schema) => {
    for (const name of ["zz", "constructor", "toString", "__proto__"]) {
      const args = JSON.parse(`{"a":1,"${name}":1}`) as object;
      const found = await issues(schema, schema ? args : JSON.parse(`{"${name}":1}`));
      expect(found[0]).toMatchObject({
        path: [name],
        message: expect.stringMatching(/unknown argument|nrecognized/),
      });
    }
  });

  test("TASK-3: a schema that is open to any name takes any name", async () => {
    expect(await parse(z.looseObject({ a: z.number() }), { a: "1", zz: 2 })).toEqual({ a: 1, zz: 2 });
    expect(await parse(z.record(z.string(), z.number()), { x: 1, y: "2" })).toEqual({ x: 1, y: 2 });
    expect(await parse(passThrough(), { x: 1 })).toEqual({ x: 1 });
  });

  test("FRAME-10: a name such as __proto__ stays a name while strings are parsed", async () => {
    const refusing: Schema = {
      "~standard": {
        ...passThrough()["~standard"],
        validate: (value) =>
          typeof Object.getOwnPropertyDescriptor(value, "__proto__")?.value === "string"
            ? { issues: [{ message: "no string", path: ["__proto__"] }] }
            : { value },
      },
    };
    const args = JSON.parse('{"__proto__":"{\\"polluted\\":1}"}') as object;
    const parsed = (await parse(refusing, args)) as object;
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect(Object.getOwnPropertyDescriptor(parsed, "__proto__")?.value).toEqual({ polluted: 1 });
    expect((parsed as Record<string, unknown>)["polluted"]).toBe(undefined);
  });

  test("a schema that validates asynchronously is waited for", async () => {
    const schema = z.object({ n: z.number().refine(async (n) => Promise.resolve(n > 2)) });
    expect(await parse(schema, { n: "3" })).toEqual({ n: 3 });
    expect((await issues(schema, { n: "1" }))[0]!.path).toEqual(["n"]);
  });
});
