import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "./_testing.ts";
import { bwrapCommand } from "./bwrap_command.ts";
import type { SandboxOptions } from "./sandbox_options.ts";

const isRoot = process.getuid!() === 0;

function output(options: SandboxOptions, script: string): string {
  const [program = "", ...words] = bwrapCommand(options, { argv: ["bash", "-c", script] });
  return execFileSync(program, words, { encoding: "utf8" });
}

describe("bwrapCommand()", () => {
  test("runs a process in a sandbox of its own, with the same walls", () => {
    const root = temporaryFolder();
    const lines = [
      "id -u; pwd; touch made",
      "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status",
      "cat /etc/shadow /proc/keys 2>&1 | grep -c denied",
      "grep -c : /proc/net/dev",
    ];
    const found = output({ root }, lines.join("; "));
    expect(found).toBe(
      `${isRoot ? 65_534 : process.getuid!()}\n/workspace\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n2\n1\n`,
    );
    expect(readFileSync(join(root, "made"), "utf8")).toBe("");
  });

  test("has the environment and the folder it was told", () => {
    const root = temporaryFolder();
    mkdirSync(join(root, "sub"));
    const command = { argv: ["env"], env: { ODD: "a b\n'" }, cwd: "/workspace/sub" };
    const [program = "", ...words] = bwrapCommand({ root, env: { PATH: "/usr/bin", X: "1" } }, command);
    const found = execFileSync(program, words, { encoding: "utf8" });
    expect(found.replace("ODD=a b\n'", "ODD").trim().split("\n").sort()).toEqual([
      "ODD",
      "PATH=/usr/bin",
      "PWD=/workspace/sub",
      "X=1",
    ]);
  });

  test.runIf(isRoot)("reaches a folder that the user cannot enter", () => {
    const closed = temporaryFolder();
    const root = join(closed, "root");
    mkdirSync(root);
    writeFileSync(join(root, "file"), "content");
    chmodSync(closed, 0o700);
    expect(output({ root }, "cat file; id -u")).toBe("content65534\n");
  });

  test("refuses what a sandbox refuses", () => {
    expect(() => bwrapCommand({ root: "/etc" }, { argv: ["true"] })).toThrow("it is no directory of its own");
  });
});
