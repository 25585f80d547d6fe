import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { connect } from "@envport/client";
import { expect, onTestFinished, test } from "vitest";
import { envport, project, serveIn, start } from "../_testing.ts";

test("a TypeScript module with a sibling and top-level await is served; standard output has the port and nothing else", async () => {
  const folder = project(["env.ts", "greeting.ts"]);
  const { url, server } = await serveIn(folder, "env.ts");
  await server.until(
    "stderr",
    /fixture 1\.2\.3 is served at tcp:\/\/127\.0\.0\.1:\d+\n {2}tasks {5}greet, needs, fails, waits\n {2}bindings {2}none\n/,
  );
  await using client = await connect(url);
  const task = await client.start("greet");
  expect(task.prompt).toBe("Say hello to world");
  expect(await task.grade("hello world")).toMatchObject({ score: 1 });
  await server.until("stderr", /the task prints/);
  expect(server.stderr).toContain("the module prints");
  const { code, stdout } = await server.stop();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^HUD_SERVE_PORT=\d+\n$/);
});

test.each(["SIGTERM", "SIGINT"] as const)("%s cleans up and ends with 0", async (signal) => {
  const { url, server } = await serveIn(project(["env.ts", "greeting.ts"]), "env.ts");
  await using client = await connect(url);
  await client.start("waits");
  const { code, stderr } = await server.stop(signal);
  expect(code).toBe(0);
  expect(stderr).toContain("cleaned up");
});

test("relative folders of workspaces are beside the module, wherever it is served from", async () => {
  const folder = project();
  mkdirSync(path.join(folder, "inner"));
  writeFileSync(
    path.join(folder, "inner/env.ts"),
    'import { Environment } from "@envport/server";\nimport { writeFileSync } from "node:fs";\nwriteFileSync("here", "");\nexport default new Environment();\n',
  );
  await serveIn(folder, "inner");
  expect(readFileSync(path.join(folder, "inner/here"), "utf8")).toBe("");
});

test("one of several exports is chosen behind a colon", { timeout: 60_000 }, async () => {
  const folder = project(["several.ts"]);
  const { server } = await serveIn(folder, "several.ts:second");
  await server.until("stderr", /second 0\.0\.1 is served/);
  const none = await envport(["serve", "several.ts"], { cwd: folder });
  expect(none).toMatchObject({ code: 2, stdout: "" });
  expect(none.stderr).toBe(
    'envport: Cannot serve "several.ts" as it exports several environments: choose several.ts:first or several.ts:second\n',
  );
  const wrong = await envport(["serve", "several.ts:third"], { cwd: folder });
  expect(wrong.stderr).toBe(
    'envport: Cannot serve "several.ts:third" as that is no Environment: choose several.ts:first or several.ts:second\n',
  );
});

test.each([
  [
    "missing.ts",
    undefined,
    2,
    /Cannot use "missing\.ts" as there is no such file: current folder is \/.*\n$/,
  ],
  [
    ".",
    undefined,
    2,
    /Cannot use folder "\." as it has no env\.ts, env\.mts, env\.js or env\.mjs: name the file, or make one with envport init\n$/,
  ],
  [
    "empty.ts",
    "export const x = 1;",
    2,
    /as it exports no Environment: add 'export default env;', env being a new Environment\(\)/,
  ],
  [
    "program.ts",
    'import { serve } from "@envport/server"; if (Math.random() > 2) await serve(undefined as never);',
    2,
    /in place of its own call of serve\(\), or run it with node\n$/,
  ],
  [
    "syntax.ts",
    "export const x: = 3;",
    1,
    /Cannot load "syntax\.ts": .*syntax\.ts:1:16: ERROR: Unexpected "="\n$/,
  ],
  [
    "throws.ts",
    'export const x = 1;\n\nthrow new Error("no licence");',
    1,
    /Cannot load "throws\.ts": no licence \(throws\.ts:3\)\n$/,
  ],
  [
    "package.ts",
    'import "not-there";',
    1,
    /package 'not-there' is not installed: run npm install not-there in \/.*\n$/,
  ],
  [
    "sibling.ts",
    'import "./nowhere.ts";',
    1,
    /Cannot find module '.*nowhere\.ts' imported from .*sibling\.ts\n$/,
  ],
])("%s that cannot be served is told of in one sentence", async (name, source, code, message) => {
  const folder = project();
  if (source !== undefined) writeFileSync(path.join(folder, name), source);
  const result = await envport(["serve", name, "--port", "0"], { cwd: folder });
  expect(result).toMatchObject({ code, stdout: "" });
  expect(result.stderr).toMatch(message);
  expect(result.stderr).not.toMatch(/^\s+at /m);
});

test(
  "a project without type: module is served if it awaits nothing at its top level, else told what to do",
  { timeout: 60_000 },
  async () => {
    const folder = project(["several.ts", "env.ts", "greeting.ts"]);
    writeFileSync(path.join(folder, "package.json"), "{}");
    const { server } = await serveIn(folder, "several.ts:first");
    await server.until("stderr", /first 0\.0\.1 is served/);
    const { stderr } = await envport(["serve", "env.ts", "--port", "0"], { cwd: folder });
    expect(stderr).toMatch(/which only ES modules may: put "type": "module" into .*package\.json\n$/);
  },
);

test(
  "a port that is taken, and a host that is open to all, are refused with the remedy",
  { timeout: 60_000 },
  async () => {
    const folder = project(["env.ts", "greeting.ts"]);
    const taken = net.createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void taken.close());
    await new Promise((resolve) => taken.once("listening", resolve));
    const port = String((taken.address() as net.AddressInfo).port);
    const busy = await envport(["serve", "env.ts", "--port", port], { cwd: folder });
    expect(busy).toMatchObject({ code: 1, stdout: "" });
    expect(busy.stderr).toMatch(/\(EADDRINUSE\): choose another .*\n$/);
    const open = await envport(["serve", "env.ts", "--host", "0.0.0.0"], { cwd: folder });
    expect(open).toMatchObject({ code: 2, stdout: "" });
    expect(open.stderr).toMatch(
      /Cannot serve on host '0\.0\.0\.0' as everyone .*: say 127\.0\.0\.1, --token-file, .* or --insecure in a .*\n$/,
    );
  },
);

test(
  "--watch serves the new code on the same port, and goes on after an error",
  { timeout: 60_000 },
  async () => {
    const folder = project(["env.ts", "greeting.ts"]);
    const { url, server } = await serveIn(folder, "env.ts", "--watch");
    const prompt = async (): Promise<unknown> => {
      await using client = await connect(url, { readyTimeout: 20_000 });
      return (await client.start("greet")).prompt;
    };
    expect(await prompt()).toBe("Say hello to world");

    writeFileSync(path.join(folder, "greeting.ts"), "export const greeting: = 1;");
    await server.until("stderr", /greeting\.ts has changed: starting again/);
    await server.until("stderr", /Cannot load .*Waiting for a change/s);
    rmSync(path.join(folder, "greeting.ts"));
    await server.until("stderr", /Cannot find module[^]*Waiting for a change/);
    writeFileSync(path.join(folder, "greeting.ts"), 'export const greeting: string = "goodbye";');
    await server.until("stderr", /is served at[^]*is served at/);
    expect(await prompt()).toBe("Say goodbye to world");

    // What is no part of the environment's code starts nothing.
    writeFileSync(path.join(folder, "notes.ts"), "");
    writeFileSync(path.join(folder, "env.ts"), `${readFileSync(path.join(folder, "env.ts"), "utf8")}\n`);
    await server.until("stderr", /env\.ts has changed/);
    expect(server.stderr).not.toContain("notes.ts");
    const { code, stdout } = await server.stop("SIGINT");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^HUD_SERVE_PORT=\d+\n$/);
    await expect(connect(url, { readyTimeout: 0 })).rejects.toThrow(/no environment answered/);
  },
);

test(
  "with --watch, a supervisor that is killed takes the environment with it",
  { timeout: 60_000 },
  async () => {
    const { url, server } = await serveIn(project(["env.ts", "greeting.ts"]), "env.ts", "--watch");
    await using client = await connect(url);
    await client.start("waits");
    server.child.kill("SIGKILL");
    await client.closed;
    await server.until("stderr", /cleaned up/);
  },
);

test(
  "what a task throws is logged with its place, and with its stack only on request",
  { timeout: 60_000 },
  async () => {
    const folder = project(["env.ts", "greeting.ts"]);
    for (const words of [["env.ts"], ["env.ts", "--verbose"]]) {
      const { url, server } = await serveIn(folder, ...words);
      await using client = await connect(url);
      const task = await client.start("fails");
      await expect(task.grade()).rejects.toThrow("the disk is full");
      if (words.length === 1) await server.until("stderr", /error=the disk is full \(env\.ts:\d+\)\n/);
      else await server.until("stderr", /error=Error: the disk is full\n {4}at .*env\.ts:\d+/);
    }
  },
);

test("--json says errors as objects, and keeps standard output to the port", async () => {
  const server = start(["serve", "env.ts", "--port", "0", "--json"], {
    cwd: project(["env.ts", "greeting.ts"]),
  });
  await server.until("stdout", /^HUD_SERVE_PORT=\d+\n$/);
  await server.stop();
  expect(server.stderr).toBe("the module prints\n");
});
