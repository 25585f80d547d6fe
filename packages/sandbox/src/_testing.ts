import { spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Sandbox } from "./sandbox.ts";
import type { SandboxCommand, SandboxExit } from "./sandbox_process.ts";

/** What {@linkcode run} gives back. */
export interface Outcome extends SandboxExit {
  readonly out: string;
  readonly err: string;
}

/** Runs a line of bash, or a whole command, to its end. */
export async function run(
  sandbox: Sandbox,
  what: string | SandboxCommand,
  { input = "" }: { input?: string } = {},
): Promise<Outcome> {
  const process = await sandbox.spawn(typeof what === "string" ? { argv: ["bash", "-c", what] } : what);
  process.stdin.end(input);
  const [out, err, exit] = await Promise.all([
    buffer(process.stdout),
    process.stderr === undefined ? Buffer.alloc(0) : buffer(process.stderr),
    process.exit,
  ]);
  return { ...exit, out: out.toString(), err: err.toString() };
}

/** A folder of its own that others may enter; gone after the test. */
export function temporaryFolder(parent: string = tmpdir()): string {
  const folder = mkdtempSync(join(parent, "sandbox-test-"));
  chmodSync(folder, 0o755);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** All that a stream brings. Unlike an async iterator it leaves the writing direction alone. */
export function readAll(stream: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.once("end", () => resolve(Buffer.concat(chunks).toString()));
    stream.once("error", reject);
  });
}

let marks = 0;

/** A number of seconds that only this test sleeps for, to find its processes by. */
export function mark(): string {
  return `9${process.pid}.${++marks}${Date.now() % 1000}`;
}

/** Host processes whose command line has the mark. */
export function processesWith(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(mark);
      } catch {
        return false;
      }
    });
}

const stat = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return "";
  }
};

/** Whether a process has ended. */
export const isGone = (pid: number): boolean => stat(pid) === "" || /\) [ZX]/.test(stat(pid));

/** Every descendant of a process. */
export function descendantsOf(parent: number): number[] {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(/\) \S (\d+)/.exec(stat(Number(name)))?.[1]) === parent)
    .map(Number);
  return [...children, ...children.flatMap(descendantsOf)];
}

/** Waits until the condition holds. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  ms: number,
  what: string | (() => string),
): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(`Not within ${ms} ms: ${typeof what === "string" ? what : what()}`);
    await sleep(10);
  }
}

/**
 * The package as JavaScript in a folder that every user can read, for programs that run as somebody else or die on
 * purpose. Returns the path of its `mod.js`.
 */
export async function builtCopy(): Promise<string> {
  return join(await builtPackages(["sandbox"]), "node_modules/@envport/sandbox/dist/mod.js");
}

/** Packages of this repository as JavaScript, installed in a folder that every user can read. */
export async function builtPackages(
  names: readonly string[],
  folder: string = temporaryFolder(),
): Promise<string> {
  // Loaded here alone: it takes as long as most tests.
  const { default: ts } = await import("typescript");
  const compilerOptions = {
    module: ts.ModuleKind.ESNext,
    target: ts.ScriptTarget.ES2022,
    rewriteRelativeImportExtensions: true,
    verbatimModuleSyntax: true,
  };
  for (const name of names) {
    const source = resolve(import.meta.dirname, "../..", name);
    const target = join(folder, "node_modules/@envport", name);
    mkdirSync(join(target, "dist"), { recursive: true });
    copyFileSync(join(source, "package.json"), join(target, "package.json"));
    for (const file of readdirSync(join(source, "src"))) {
      const text = (): string => readFileSync(join(source, "src", file), "utf8");
      if (file.endsWith(".cjs")) writeFileSync(join(target, "dist", file), text());
      if (!file.endsWith(".ts") || file.endsWith("_test.ts") || file.startsWith("_testing")) continue;
      const { outputText } = ts.transpileModule(text(), { compilerOptions });
      writeFileSync(join(target, "dist", file.replace(/\.ts$/, ".js")), outputText);
    }
  }
  return folder;
}

/** A Node program, as another user if asked. */
export function program(source: string, { uid }: { uid?: number } = {}): ReturnType<typeof spawn> {
  return spawn(process.execPath, ["--input-type=module", "-e", source], {
    ...(uid === undefined ? {} : { uid, gid: uid }),
    cwd: "/",
    env: { PATH: process.env.PATH, CONTROL_TOKEN: "of the serving process" },
    stdio: ["pipe", "pipe", "inherit"],
  });
}
