import { expect, test } from "vitest";
import type { Command } from "./_command.ts";
import { Failure } from "./_failure.ts";
import { Invocation } from "./_invocation.ts";

const command: Command = {
  path: "paint",
  summary: "Paint",
  arguments: [
    { name: "wall", summary: "Which wall" },
    { name: "colour", optional: true, many: true, summary: "Colours" },
  ],
  options: [
    { name: "coats", short: "c", value: "n", summary: "How many" },
    { name: "with", value: "tool", repeat: true, summary: "Tools" },
    { name: "quick", short: "q", summary: "Quickly" },
  ],
  examples: [["paint north red", "One wall"]],
  run: () => Promise.resolve(0),
};
const exec: Command = {
  ...command,
  path: "exec",
  arguments: [command.arguments[0]!],
  rest: { name: "command", summary: "What" },
};

test("words are read by what the command takes, in any order", () => {
  const read = new Invocation(command, [
    "-c",
    "2",
    "north",
    "--with=brush",
    "red",
    "--with",
    "roller",
    "-q",
    "blue",
  ]);
  expect(read.argument("wall")).toBe("north");
  expect(read.manyArguments("colour")).toEqual(["red", "blue"]);
  expect(read.number("coats")).toBe(2);
  expect(read.options("with")).toEqual(["brush", "roller"]);
  expect(read.flag("quick")).toBe(true);
  expect(read.flag("json")).toBe(false);
});

test("a value may begin with a dash, be empty, or hold '='", () => {
  expect(new Invocation(command, ["north", "--coats", "-5"]).number("coats")).toBe(-5);
  expect(new Invocation(command, ["north", "--with="]).option("with")).toBe("");
  expect(new Invocation(command, ["north", "--with", "a=b=c"]).option("with")).toBe("a=b=c");
  expect(new Invocation(command, ["north", "--with=--quick"]).option("with")).toBe("--quick");
});

test("what stands behind -- is the command's, options and all", () => {
  const read = new Invocation(exec, ["north", "--", "ls", "--", "--quick", "-x"]);
  expect(read.rest).toEqual(["ls", "--", "--quick", "-x"]);
  expect(read.flag("quick")).toBe(false);
  expect(new Invocation(command, ["--", "north", "--quick"]).manyArguments("colour")).toEqual(["--quick"]);
});

test("--help needs nothing else", () => {
  expect(new Invocation(command, ["--help"]).flag("help")).toBe(true);
  expect(new Invocation(exec, ["-h"]).flag("help")).toBe(true);
});

test.each<[Command, string[], string]>([
  [command, [], "Cannot run 'paint' as <wall> is missing (which wall): for example, envport paint north red"],
  [command, ["north", "--quik"], "Cannot use --quik as 'paint' has no such option; did you mean '--quick'?"],
  [command, ["north", "-z"], "Cannot use -z as 'paint' has no such option: see envport paint --help"],
  [command, ["north", "--coats"], "Cannot use --coats as it takes a value: write --coats <n>"],
  [
    command,
    ["north", "--coats", "--quick"],
    "Cannot use --coats as it takes a value: write --coats <n>, or --coats=--quick if that is the value",
  ],
  [command, ["north", "--quick=yes"], 'Cannot use --quick as it takes no value: current value is "yes"'],
  [command, ["north", "--coats", "1", "-c", "2"], 'Cannot use --coats twice: its values are "1" and "2"'],
  [
    exec,
    ["north"],
    "Cannot run 'exec' as -- <command> is missing (what): for example, envport paint north red",
  ],
  [
    exec,
    ["north", "ls", "-q"],
    "Cannot use \"ls\" as 'exec' takes no further argument: what is to be run stands behind --, as in 'envport exec … -- ls'",
  ],
])("of %s, %j is refused in one sentence", (taken, words, message) => {
  const read = (): Invocation => new Invocation(taken, words);
  expect(read).toThrow(Failure);
  expect(read).toThrow(message);
});

test.each([
  ["", /must be a whole number from 0 to 9: current value is ""/],
  ["x", /current value is "x"/],
  ["1.5", /whole number/],
  ["10", /from 0 to 9/],
])("the number %j is refused", (text, message) => {
  const read = new Invocation(command, ["north", `--coats=${text}`]);
  expect(() => read.number("coats", { integer: true, min: 0, max: 9 })).toThrow(message);
});
