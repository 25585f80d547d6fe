import { type } from "arktype";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { passThrough } from "./_testing.ts";
import type { Answer } from "./answer.ts";
import { Environment } from "./environment.ts";
import type { ArgsOf, ReceivedOf, TaskContext } from "./template.ts";

const env = new Environment();

describe("types", () => {
  test("args have the type of the schema's output: defaults are filled in, transforms are done (zod)", () => {
    const args = z.object({
      suite: z.enum(["unit", "e2e"]).default("unit"),
      n: z.number().optional(),
      at: z.string().transform((text) => text.length),
    });
    env.template("zod-args", { args }).run(async function* (given) {
      expectTypeOf(given).toEqualTypeOf<{ suite: "unit" | "e2e"; n?: number | undefined; at: number }>();
      yield "p";
    });
    expectTypeOf<ArgsOf<typeof args>>().toEqualTypeOf<z.output<typeof args>>();
  });

  test("args have the type of the schema's output (arktype)", () => {
    const args = type({ suite: "'unit' | 'e2e' = 'unit'", "n?": "number", at: "string.date.parse" });
    env.template("ark-args", { args }).run(async function* (given) {
      expectTypeOf(given.suite).toEqualTypeOf<"unit" | "e2e">();
      expectTypeOf(given.n).toEqualTypeOf<number | undefined>();
      expectTypeOf(given.at).toEqualTypeOf<Date>();
      yield "p";
    });
  });

  test("a task without args has none", () => {
    env.template("no-args").run(async function* (given) {
      expectTypeOf(given).toEqualTypeOf<Record<string, never>>();
      yield "p";
    });
  });

  test("the first yield returns what was sent, as a string, where no type is declared", () => {
    env.template("untyped", { args: z.object({ a: z.number() }) }).run(async function* ({ a }, ctx) {
      const answer = yield `p ${String(a)}`;
      expectTypeOf(answer).toEqualTypeOf<string | undefined>();
      expectTypeOf(ctx).toEqualTypeOf<TaskContext>();
      yield answer === "x" ? 1 : 0;
    });
  });

  test("the first yield returns content and raw where a type is declared (zod, arktype, by hand)", () => {
    env.template("typed-zod", { returns: z.object({ x: z.number().default(0) }) }).run(async function* () {
      const answer = yield "p";
      expectTypeOf(answer).toEqualTypeOf<Answer<{ x: number }>>();
      expectTypeOf(answer.content).toEqualTypeOf<{ x: number } | string>();
      expectTypeOf(answer.raw).toEqualTypeOf<string>();
      yield 1;
    });
    env.template("typed-ark", { returns: type("number.integer") }).run(async function* () {
      const { content } = yield "p";
      expectTypeOf(content).toEqualTypeOf<number | string>();
      yield 1;
    });
    expectTypeOf<ReceivedOf<ReturnType<typeof passThrough>>>().toEqualTypeOf<
      Answer<Record<string, unknown>>
    >();
  });

  test("both are inferred together", () => {
    env
      .template("both", { args: z.object({ a: z.number() }), returns: z.boolean(), input: z.string() })
      .run(async function* ({ a }) {
        expectTypeOf(a).toEqualTypeOf<number>();
        const { content } = yield "p";
        expectTypeOf(content).toEqualTypeOf<boolean | string>();
        yield content === true;
      });
  });

  test("what is no schema, and what is no generator, does not compile", () => {
    // @ts-expect-error a JSON Schema is no Standard Schema
    expect(() => env.template("x1", { args: { type: "object" } }).run(async function* () {})).toThrow(
      TypeError,
    );
    // @ts-expect-error an async function is no generator
    expect(() => env.template("x2").run(async () => 1)).toThrow(TypeError);
    // @ts-expect-error a generator that is not async cannot wait
    expect(() => env.template("x3").run(function* () {})).toThrow(TypeError);
  });
});

describe("registration", () => {
  test("a template that is described but never run is not registered", () => {
    const other = new Environment();
    other.template("t");
    expect(other.templates.size).toBe(0);
    const template = other.template("t", { description: "d" }).run(async function* () {});
    expect(other.templates.get("t")).toBe(template);
    expect(template).toMatchObject({ id: "t", timeouts: {} });
  });

  test("an id is taken once", () => {
    const other = new Environment({ name: "e" });
    other.template("t").run(async function* () {});
    expect(() => other.template("t").run(async function* () {})).toThrow(
      "Cannot register task 't' as environment 'e' has one of that id",
    );
  });
});
