import { bwrapArgv } from "./bwrap_argv.ts";
import { DEFAULT_PATH } from "./default_path.ts";
import { findBwrap } from "./_find_bwrap.ts";
import { chooseIdentity, handOver } from "./_identity.ts";
import { planMounts } from "./_mount_plan.ts";
import { bindSources } from "./_prepare_plan.ts";
import { dropCommand, stageCommand } from "./_stage.ts";
import type { SandboxOptions } from "./sandbox_options.ts";
import type { SandboxCommand } from "./sandbox_process.ts";

/**
 * The program and arguments of a process of the caller's own, in a sandbox of its own around the same directory: for
 * programs that start their children themselves.
 *
 * It shows and hides what a {@linkcode Sandbox} of these options does and runs as whom that does. What needs descriptors
 * or a serving process is missing: the seccomp filter, limits, `allowedHosts` and `peers`. Variables are in the words,
 * where every process of the machine can read them.
 *
 * @param options Those of a sandbox.
 * @param command What to run.
 * @throws {SandboxError} For what a sandbox's `start()` throws.
 *
 * @example
 * ```ts
 * import { bwrapCommand } from "@envport/sandbox";
 * import assert from "node:assert/strict";
 * import { execFileSync } from "node:child_process";
 * import { mkdtempSync } from "node:fs";
 *
 * const [program = "", ...words] = bwrapCommand({ root: mkdtempSync("/tmp/task-") }, { argv: ["pwd"] });
 * assert.equal(execFileSync(program, words, { encoding: "utf8" }), "/workspace\n");
 * ```
 */
export function bwrapCommand(options: SandboxOptions, command: SandboxCommand): string[] {
  const bwrap = findBwrap(options.bwrap);
  const mounts = planMounts(options);
  const identity = chooseIdentity(mounts.root, options.identity);
  const sources = [...bindSources(mounts), { path: bwrap, writable: false }];
  const before =
    identity === undefined ? [] : (stageCommand(bwrap, identity, sources) ?? dropCommand(identity));
  if (identity !== undefined) handOver(mounts.root, identity);
  const defaults = { PATH: DEFAULT_PATH, HOME: mounts.guestPath, LANG: "C.UTF-8" };
  const { PATH, ...env } = { ...(options.env ?? defaults), ...command.env } as Record<string, string>;
  return [
    ...before,
    bwrap,
    ...bwrapArgv({
      ...mounts,
      tmpfs: options.limits?.tmpfs ?? 2 ** 31,
      shareNetwork: options.network === "shared",
      path: PATH ?? DEFAULT_PATH,
    }),
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...(command.cwd === undefined ? [] : ["--chdir", command.cwd]),
    "--",
    ...command.argv,
  ];
}
