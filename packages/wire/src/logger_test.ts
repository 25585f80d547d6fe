import assert from "node:assert/strict";
import { onTestFinished, test, vi } from "vitest";
import { consoleLogger } from "./logger.ts";

function written(): string[] {
  const lines: string[] = [];
  const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  onTestFinished(() => {
    spy.mockRestore();
  });
  return lines;
}

test("consoleLogger() writes one line with its facts to standard error", () => {
  const lines = written();
  consoleLogger().log("warn", "a tunnel was refused", { capability: "shell", port: 22, nothing: undefined });
  assert.deepEqual(lines, [
    'envport warn: a tunnel was refused capability="shell" port=22 nothing=undefined\n',
  ]);
});

test("consoleLogger() drops entries below its level, which is `warn` unless told otherwise", () => {
  const lines = written();
  for (const level of ["debug", "info", "warn", "error"] as const) consoleLogger().log(level, level);
  consoleLogger({ level: "debug" }).log("debug", "all");
  assert.deepEqual(lines, ["envport warn: warn\n", "envport error: error\n", "envport debug: all\n"]);
});

test("consoleLogger() never throws, whatever the facts are, and keeps each entry on one line", () => {
  const lines = written();
  const cycle: Record<string, unknown> = { list: Array.from({ length: 30 }, (_, i) => `entry\n${i}`) };
  cycle["self"] = cycle;
  consoleLogger().log("error", "x", { cycle, big: 1n, symbol: Symbol("s"), f: () => 1 });
  assert.equal(lines[0]!.indexOf("\n"), lines[0]!.length - 1);
});

test("consoleLogger() keeps a text of several lines, and what a peer puts into it, on the line of its entry", () => {
  const lines = written();
  consoleLogger().log("error", "x", { name: 'a"b\nenvport error: forged', error: new Error("why") });
  assert.match(lines[0]!, /^envport error: x name="a\\"b\\nenvport error: forged" error=Error: why\n/);
});
