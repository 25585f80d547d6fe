import { execFile, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { TOOL_VERSIONS, sourceFiles } from "../_init/project_files.ts";
import { DEFAULT_TEMPLATES, TEMPLATES } from "../_init/templates.ts";
import { PROGRAM, envport, project } from "../_testing.ts";
import { Tmux } from "../_testing_tmux.ts";

const PACKAGES = path.resolve(import.meta.dirname, "../../..");

/** Where this repository has what projects ask for. */
const MODULES = ["../node_modules", "mcp/node_modules"];

/** What `npm install` would bring, as links to here. */
function install(folder: string): void {
  const modules = path.join(folder, "node_modules");
  mkdirSync(path.join(modules, "@envport"), { recursive: true });
  mkdirSync(path.join(modules, ".bin"));
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(path.join(folder, "package.json"), "utf8"),
  );
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
    const target = name.startsWith("@envport/")
      ? path.join(PACKAGES, name.slice("@envport/".length))
      : MODULES.map((modules) => path.join(PACKAGES, modules, name)).find((one) => existsSync(one))!;
    mkdirSync(path.dirname(path.join(modules, name)), { recursive: true });
    symlinkSync(target, path.join(modules, name));
  }
  symlinkSync(path.join(PACKAGES, "../node_modules/.bin/tsc"), path.join(modules, ".bin/tsc"));
  const command = `#!/bin/sh\nexec ${PROGRAM.map((word) => `'${word}'`).join(" ")} "$@"\n`;
  writeFileSync(path.join(modules, ".bin/envport"), command);
  chmodSync(path.join(modules, ".bin/envport"), 0o755);
}

async function npm(folder: string, ...words: string[]): Promise<string> {
  const env = { ...process.env, NODE_OPTIONS: "--conditions=@envport/source", NODE_V8_COVERAGE: "" };
  const { stdout } = await promisify(execFile)("npm", words, { cwd: folder, env });
  return stdout;
}

const TASKS = ["fix-sum", "restock", "order-tea", "note", "turn", "capital"];

test.each([
  ["what is made by default", undefined, ["fix-sum"], 3],
  ["ssh", "ssh", ["fix-sum"], 2],
  ["mcp", "mcp", ["restock"], 2],
  ["cdp", "cdp", ["order-tea"], 2],
  ["rfb", "rfb", ["note"], 2],
  ["robot", "robot", ["turn"], 2],
  ["no capability", "none", ["capital"], 2],
  ["everything", TEMPLATES.map(({ name }) => name).join(","), TASKS, 13],
])("%s: the project tests and runs at once", { timeout: 120_000 }, async (_, words, tasks, tests) => {
  const folder = path.join(project(), "my-env");
  const made = await envport(["init", folder, ...(words === undefined ? [] : ["--with", words])]);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  install(folder);
  const report = await npm(folder, "test");
  expect(report).toMatch(new RegExp(`^# pass ${String(tests)}\\n# fail 0$`, "m"));
  const tested = [...report.matchAll(/^ok \d+ - (.*): the agent scores 1$/gm)].map(([, task]) => task);
  expect(tested).toEqual(tasks);
  if (tasks.length > 1) return; // an episode of the first task once more
  const episode = await npm(folder, "start", "--silent");
  expect(JSON.parse(episode.trimEnd().split("\n").at(-1)!)).toMatchObject({ event: "graded", score: 1 });
});

test("every project type-checks, alone and together", { timeout: 120_000 }, async () => {
  const folder = path.join(project(), "my-env");
  await envport(["init", folder, "--with", TEMPLATES.map(({ name }) => name).join(",")]);
  install(folder);
  for (const template of TEMPLATES) {
    const needed = TEMPLATES.filter(({ name }) => template.needs.includes(name));
    mkdirSync(path.join(folder, template.name));
    for (const [file, text] of Object.entries(sourceFiles("alone", [...needed, template]))) {
      writeFileSync(path.join(folder, template.name, file), text);
    }
  }
  // One run for all. The packages are read as sources here, which takes a stricter rule.
  const config = path.join(folder, "tsconfig.json");
  const text = readFileSync(config, "utf8").replace('"*.ts"', '"*.ts", "*/*.ts"');
  writeFileSync(config, text.replace('"strict": true,', '$& "exactOptionalPropertyTypes": true,'));
  const words = ["run", "typecheck", "--", "--customConditions", "@envport/source", "--listFiles"];
  const { status, stdout } = spawnSync("npm", words, { cwd: folder, encoding: "utf8" });
  expect(status, stdout).toBe(0);
  expect(stdout.match(/my-env\/.*env\.test\.ts$/gm)).toHaveLength(TEMPLATES.length + 1);
});

test("it says what it made and what is next; with --json as an object", { timeout: 60_000 }, async () => {
  const folder = project();
  const { stdout } = await envport(["init", "My Env", "--with", "filetracking"], { cwd: folder });
  expect(stdout).toMatch(
    /^Made my-env in My Env: package\.json, env\.ts, agent\.ts, env\.test\.ts, tsconfig\.json, \.gitignore\n\nNext:\n {2}cd 'My Env'\n {2}sudo apt-get install bubblewrap +# .*\n {2}npm install\n/,
  );
  const named = await envport(["init", "other", "--name", "coder", "--json", "--with", "none"], {
    cwd: folder,
  });
  expect(JSON.parse(named.stdout)).toMatchObject({
    name: "coder",
    capabilities: ["none"],
    files: expect.arrayContaining(["env.ts"]),
  });
  expect(readFileSync(path.join(folder, "My Env/env.ts"), "utf8")).toContain('name: "my-env"');
});

test(
  "a package.json that is there gets what it lacks, and nothing of it is lost",
  { timeout: 60_000 },
  async () => {
    const folder = project();
    const manifest = path.join(folder, "package.json");
    const before = {
      name: "mine",
      description: "kept",
      scripts: { test: 'echo "Error: no test specified" && exit 1', serve: "mine" },
      dependencies: { "@envport/server": "file:server.tgz", zod: "4" },
    };
    writeFileSync(manifest, JSON.stringify(before));
    expect((await envport(["init", "--with", "none"], { cwd: folder })).code).toBe(0);
    expect(JSON.parse(readFileSync(manifest, "utf8"))).toMatchObject({
      name: "mine",
      description: "kept",
      type: "module",
      scripts: {
        test: "node --import tsx --test env.test.ts",
        serve: "mine",
        start: expect.stringMatching(/^envport run capital/),
      },
      dependencies: {
        "@envport/server": "file:server.tgz",
        zod: "4",
        "@envport/client": expect.stringMatching(/^\^\d/),
      },
    });
  },
);

test("files that are there are not replaced without --force", { timeout: 60_000 }, async () => {
  const folder = project();
  writeFileSync(path.join(folder, "env.ts"), "mine");
  const refused = await envport(["init"], { cwd: folder });
  expect(refused).toEqual({
    code: 2,
    stdout: "",
    stderr:
      'envport: Cannot make an environment in "." as it has env.ts: choose another folder, or say --force to replace\n',
  });
  expect(readdirSync(folder).sort()).toEqual(["env.ts", "node_modules", "package.json"]);
  expect((await envport(["init", "--force"], { cwd: folder })).code).toBe(0);
  expect(readFileSync(path.join(folder, "env.ts"), "utf8")).toContain("new Environment");
});

test("a capability that there is not is told of with those that there are", async () => {
  const { code, stderr } = await envport(["init", "x", "--with", "ssh,filetraking"], { cwd: project() });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr:
      "envport: Cannot make an environment with 'filetraking' as there is ssh, filetracking, mcp, cdp, rfb, robot, none; did you mean 'filetracking'?\n",
  });
});

test("on a terminal it asks, and takes Enter for the usual ones", { timeout: 60_000 }, async () => {
  using tmux = new Tmux({ cols: 100, rows: 30 });
  const folder = project();
  const command = PROGRAM.map((word) => `'${word}'`).join(" ");
  tmux.type(`${command} init first\n`, folder);
  await tmux.until(
    /^ {2}ssh +a shell and files, in a sandbox$[^]*^Capabilities, with commas \[ssh,filetracking\]: $/m,
  );
  tmux.type("none\n");
  await tmux.until(/^Made first in first:/m);
  expect(readFileSync(path.join(folder, "first/env.ts"), "utf8")).not.toContain("workspace");
  tmux.type(`clear; ${command} init second; echo code $?\n`);
  await tmux.until(/\[ssh,filetracking\]: $/m);
  tmux.key("C-c");
  await tmux.until(/^code 130$/m);
  expect(readdirSync(folder)).not.toContain("second");
});

test("the versions that it asks for are those of this repository's catalog", () => {
  const catalog = readFileSync(path.join(PACKAGES, "../pnpm-workspace.yaml"), "utf8");
  const asked = Object.assign({}, TOOL_VERSIONS, ...TEMPLATES.map(({ libraries }) => libraries));
  for (const [name, range] of Object.entries(asked)) {
    const line = new RegExp(`^ +"?${name}"?: (.*)$`, "m").exec(catalog)!;
    expect(`${name} ${range}`).toBe(`${name} ${line[1]!}`);
  }
  expect(TEMPLATES.map(({ name }) => name)).toEqual(expect.arrayContaining([...DEFAULT_TEMPLATES]));
});
