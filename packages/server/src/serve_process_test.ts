import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resolveLimits } from "./_limits.ts";
import { LineClient, freePort, until } from "./_testing.ts";

const folder = mkdtempSync(path.join(tmpdir(), "serve-process-"));
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const SERVER = path.join(folder, "server");

/** Makes JavaScript of a folder of sources: forty programs that each translate them would take minutes. */
function translate(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.isDirectory()) translate(path.join(from, entry.name), path.join(to, entry.name));
    if (!entry.name.endsWith(".ts") || entry.name.endsWith("_test.ts")) continue;
    const source = readFileSync(path.join(from, entry.name), "utf8");
    writeFileSync(path.join(to, entry.name.replace(/ts$/, "js")), javaScript(source));
  }
}

function javaScript(source: string): string {
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    rewriteRelativeImportExtensions: true,
  };
  return ts.transpileModule(source, { compilerOptions }).outputText;
}

beforeAll(() => {
  const wire = path.join(SERVER, "node_modules/@envport/wire");
  translate(import.meta.dirname, SERVER);
  translate(path.resolve(import.meta.dirname, "../../wire/src"), wire);
  writeFileSync(
    path.join(SERVER, "package.json"),
    '{"type":"module","name":"@envport/server","exports":"./mod.js"}',
  );
  writeFileSync(path.join(wire, "package.json"), '{"type":"module","exports":"./mod.js"}');
});

let count = 0;

/** A serving program of testdata/, and what it has told. */
class Program {
  readonly child: ChildProcess;
  readonly exit: Promise<{ code: number | null; signal: string | null }>;
  readonly #file = path.join(folder, `notes-${String(count++)}`);
  stdout = "";
  stderr = "";

  constructor(name = "serving.js") {
    const file = path.join(SERVER, "testdata", name);
    this.child = spawn(process.execPath, [file, this.#file], { stdio: ["ignore", "pipe", "pipe"] });
    children.add(this.child);
    this.child.stdout!.on("data", (chunk) => (this.stdout += String(chunk)));
    this.child.stderr!.on("data", (chunk) => (this.stderr += String(chunk)));
    this.exit = once(this.child, "close").then(([code, signal]) => {
      children.delete(this.child);
      return { code: code as number | null, signal: signal as string | null };
    });
  }

  get notes(): string[] {
    try {
      return readFileSync(this.#file, "utf8").split("\n").slice(0, -1);
    } catch {
      return [];
    }
  }

  count(note: string): number {
    return this.notes.filter((line) => line === note).length;
  }

  async noted(note: string): Promise<void> {
    for (const start = performance.now(); !this.notes.includes(note); await sleep(10)) {
      if (performance.now() - start > 60_000)
        throw new Error(`no "${note}" within 60 s: ${this.notes.join(", ")}`);
    }
  }

  async port(): Promise<number> {
    for (const start = performance.now(); !this.stdout.includes("\n"); await sleep(10)) {
      if (performance.now() - start > 60_000) throw new Error("no port within 60 s");
    }
    return Number(/^HUD_SERVE_PORT=(\d+)\n/.exec(this.stdout)![1]);
  }

  /** Sends a signal; returns how the program ended and how long that took. */
  async signal(name: NodeJS.Signals = "SIGTERM"): Promise<{ code: number | null; ms: number }> {
    const began = performance.now();
    this.child.kill(name);
    const { code } = await this.exit;
    return { code, ms: performance.now() - began };
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = net.createServer().listen(port, "127.0.0.1");
  const free = await Promise.race([
    once(server, "listening").then(() => true),
    once(server, "error").then(() => false),
  ]);
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}

async function connectOnceUp(port: number): Promise<LineClient> {
  for (const start = performance.now(); ; await sleep(20)) {
    try {
      return await LineClient.connect(port);
    } catch (error) {
      if (performance.now() - start > 30_000) throw error;
    }
  }
}

/** Places in the life of a server, each reached by a program of its own. */
const PLACES: Record<string, (program: Program) => Promise<LineClient | undefined>> = {
  async start(program) {
    await program.noted("serving");
    return undefined;
  },
  async idle(program) {
    return await LineClient.connect(await program.port());
  },
  async "task start"(program) {
    const client = await LineClient.connect(await program.port());
    client.request("tasks.start", { id: "work" });
    await program.noted("begin");
    return client;
  },
  async parked(program) {
    const client = await LineClient.connect(await program.port());
    await client.result("tasks.start", { id: "work" });
    client.destroy();
    return undefined;
  },
  async grade(program) {
    const client = await LineClient.connect(await program.port());
    await client.result("tasks.start", { id: "work" });
    client.request("tasks.grade");
    await program.noted("grading");
    return client;
  },
};

/** Whatever the moment: the process ends in time with code 0, and nothing is left. */
async function stopsCleanly(place: string, delay: number): Promise<void> {
  const program = new Program();
  const client = await PLACES[place]!(program);
  const port = place === "start" ? undefined : await program.port();
  await sleep(delay);
  const { code, ms } = await program.signal();
  expect({ place, delay, code }).toEqual({ place, delay, code: 0 });
  expect(ms).toBeLessThan(10_000);
  if (client) await client.ended;
  if (port !== undefined) expect(await isFree(port)).toBe(true);
  const { notes } = program;
  for (const note of notes.filter((line) => line.startsWith("child "))) {
    if (/\d/.test(note)) expect(isAlive(Number(note.slice(6)))).toBe(false);
  }
  expect(program.count("finally")).toBe(program.count("begin"));
  expect(program.count("begin")).toBeLessThan(2);
  expect(program.count("shutdown")).toBe(1);
  expect(program.stderr).toBe("");
  // Clean-up comes before the hooks, hooks before the services.
  expect(notes.slice(-2)).toEqual(["shutdown", "child stopped"]);
}

describe("signals", () => {
  const moments = Object.keys(PLACES).flatMap((place) =>
    Array.from(
      { length: place === "parked" || place === "idle" ? 3 : 8 },
      (_, i) => [place, i * 40 + Math.random() * 40] as const,
    ),
  );

  test(
    `TASK-11: SIGTERM at ${String(moments.length)} random moments of start, idle, task start and grade leaves nothing behind`,
    { timeout: 180_000 },
    async () => {
      expect(moments.length).toBeGreaterThanOrEqual(30);
      const waiting = [...moments];
      const worker = async (): Promise<void> => {
        for (let next = waiting.pop(); next; next = waiting.pop()) await stopsCleanly(...next);
      };
      await Promise.all([worker(), worker(), worker(), worker()]);
    },
  );

  test(
    "TASK-11: SIGINT ends it as well, and a task that ignores its signal does not hold it up",
    { timeout: 60_000 },
    async () => {
      const program = new Program();
      const client = await LineClient.connect(await program.port());
      const session = client.request("tasks.start", { id: "stubborn" });
      await client.call("ping");
      const { code, ms } = await program.signal("SIGINT");
      expect(code).toBe(0);
      expect(ms).toBeLessThan(10_000);
      expect(await client.take(({ id }) => id === session)).toMatchObject({
        error: { data: { type: "cancelled" } },
      });
      expect(program.notes.slice(-2)).toEqual(["shutdown", "child stopped"]);
    },
  );

  test("TASK-11: a second signal ends it at once", { timeout: 60_000 }, async () => {
    const program = new Program("hanging.js");
    await program.port();
    program.child.kill("SIGTERM");
    await program.noted("stopping");
    const { code, ms } = await program.signal();
    expect(code).toBe(143);
    expect(ms).toBeLessThan(5_000);
  });

  test("TASK-11: what does not stop is left after shutdownGrace", { timeout: 60_000 }, async () => {
    const program = new Program("hanging.js");
    await program.port();
    const { code, ms } = await program.signal();
    expect(code).toBe(143);
    expect(ms).toBeLessThan(10_000);
  });
});

describe("a serving program", () => {
  test(
    "CONN-6: it prints HUD_SERVE_PORT once everything is up, and nothing else",
    { timeout: 60_000 },
    async () => {
      const program = new Program();
      const port = await program.port();
      expect(program.notes).toContain("initialized");
      const client = await LineClient.connect(port);
      expect(await client.result("hello")).toMatchObject({ env: { name: "serving" } });
      await program.signal();
      expect(program.stdout).toBe(`HUD_SERVE_PORT=${String(port)}\n`);
    },
  );

  test("nothing keeps it alive once its server is closed", { timeout: 60_000 }, async () => {
    const program = new Program("closing.js");
    expect(await program.exit).toEqual({ code: 0, signal: null });
    expect(program.notes).toEqual(["closed"]);
  });

  test(
    "CONN-6: a service that fails to start ends it with an error that names it, and no port",
    { timeout: 60_000 },
    async () => {
      const program = new Program("failing.js");
      expect((await program.exit).code).toBe(1);
      expect(program.stdout).toBe("");
      const [first, ...rest] = program.notes;
      expect(isAlive(Number(first!.slice("child ".length)))).toBe(false);
      expect(rest).toEqual(["child stopped", "Cannot start service 'screen': no such program"]);
    },
  );
});

describe("README.md", () => {
  const text = readFileSync(path.resolve(import.meta.dirname, "../README.md"), "utf8");

  test(
    "the environment in ten lines runs, and answers what the example shows",
    { timeout: 60_000 },
    async () => {
      const [, code] = /^```ts environment\n([^]*?)^```$/m.exec(text)!;
      expect(code!.trim().split("\n").filter(Boolean).length).toBeLessThanOrEqual(10);
      const port = await freePort();
      writeFileSync(path.join(SERVER, "testdata/readme.js"), javaScript(code!.replace("8765", String(port))));
      symlinkSync(
        path.resolve(import.meta.dirname, "../../../node_modules/zod"),
        path.join(SERVER, "node_modules/zod"),
      );
      const program = new Program("readme.js");
      const client = await connectOnceUp(port);
      const [, requests, replies] = /^```console\n\$ printf '%s\\n' ([^]*?) \| nc[^\n]*\n([^]*?)^```$/m.exec(
        text,
      )!;
      client.socket.end([...requests!.matchAll(/'([^']*)'/g)].map(([, line]) => `${line!}\n`).join(""));
      expect(await client.ended).toBe("end");
      expect(String(client.received)).toBe(replies);
      expect(await program.signal()).toMatchObject({ code: 0 });
      expect(program.stdout + program.stderr).toBe("");
    },
  );

  test("the table of options has every option with its default", () => {
    const rows = [...text.matchAll(/^\| `(\w+)` +\| `([^`]*)`/gm)].map(([, name, value]) => [name!, value!]);
    const limits = Object.entries(resolveLimits({})).map(([name, value]) => [name, String(value)]);
    expect(rows).toEqual(expect.arrayContaining(limits));
    const source = readFileSync(path.join(import.meta.dirname, "serve.ts"), "utf8");
    const [, options] = /interface ServeOptions \{([^]*?)^\}/m.exec(source)!;
    const declared = [...options!.matchAll(/@default \{([^}]*)\}[^]*?^ {2}(\w+)\?:/gm)].map(
      ([, value, name]) => [name!, value!],
    );
    expect(rows.sort()).toEqual(declared.sort());
  });
});

test("the programs that were started have ended", async () => {
  await until(() => children.size === 0);
});
