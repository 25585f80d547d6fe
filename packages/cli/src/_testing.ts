import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished } from "vitest";

const PACKAGE = path.resolve(import.meta.dirname, "..");
const TESTDATA = path.join(PACKAGE, "src/testdata");

/** Runs the command from its sources. */
export const PROGRAM: readonly string[] = [
  process.execPath,
  "--import",
  createRequire(import.meta.url).resolve("tsx"),
  "--conditions=@envport/source",
  path.join(PACKAGE, "src/_main.ts"),
];

/** An empty project that finds the packages; whoever asks for it removes it. */
export function keptProject(fixtures: readonly string[] = []): { path: string; remove(): void } {
  const folder = mkdtempSync(path.join(os.tmpdir(), "envport-cli-"));
  writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
  symlinkSync(path.join(PACKAGE, "node_modules"), path.join(folder, "node_modules"));
  for (const name of fixtures) cpSync(path.join(TESTDATA, name), path.join(folder, name));
  return { path: folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The same, removed after the test. */
export function project(fixtures: readonly string[] = []): string {
  const folder = keptProject(fixtures);
  onTestFinished(() => folder.remove());
  return folder.path;
}

/** How a process ended. */
export interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Options of {@linkcode start}. */
export interface StartOptions {
  cwd?: string;
  input?: string;
  env?: Record<string, string>;
}

/** A running `envport`. */
export class Running {
  stdout = "";
  stderr = "";
  readonly child: ChildProcess;
  readonly ended: Promise<Result>;

  constructor(words: readonly string[], { cwd = os.tmpdir(), input, env = {} }: StartOptions) {
    const [program, ...args] = PROGRAM;
    this.child = spawn(program!, [...args, ...words], { cwd, env: { ...process.env, ...env } });
    this.child.stdout!.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.child.stderr!.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    if (input !== undefined) this.child.stdin!.end(input);
    this.ended = new Promise((resolve) => {
      this.child.once("close", (code, signal) => {
        const { stdout, stderr } = this;
        resolve({ code: code ?? (signal === null ? null : -1), stdout, stderr });
      });
    });
  }

  /** Waits until an output matches, and returns the match. */
  async until(stream: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this[stream]);
      if (found) return found;
      const over = this.child.exitCode !== null || this.child.signalCode !== null;
      if (over) await this.ended;
      const late = pattern.exec(this[stream]);
      if (late) return late;
      if (over) expect.fail(`ended without ${String(pattern)}: ${this.stdout}${this.stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Asks it to end, and waits. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<Result> {
    this.child.kill(signal);
    return await this.ended;
  }
}

/** Starts `envport`; it is ended after the test. */
export function start(words: readonly string[], options: StartOptions = {}): Running {
  const running = new Running(words, options);
  onTestFinished(async () => {
    running.child.kill("SIGTERM");
    await running.ended;
  });
  return running;
}

/** Runs `envport` to its end. */
export async function envport(words: readonly string[], options: StartOptions = {}): Promise<Result> {
  return await start(words, { input: "", ...options }).ended;
}

/** Serves a module and returns its url once it is up. */
export async function serveIn(folder: string, ...words: string[]): Promise<{ url: string; server: Running }> {
  const server = start(["serve", ...words, "--port", "0"], { cwd: folder });
  const [, port] = await server.until("stdout", /HUD_SERVE_PORT=(\d+)\n/);
  return { url: `tcp://127.0.0.1:${port!}`, server };
}
