import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { onTestFinished, test, vi } from "vitest";
import { startWorkspace } from "./_testing.ts";
import { Workspace } from "./workspace.ts";

test("the running program's package and the folder it was started in are hidden unless told otherwise", async () => {
  const [app, folder] = await Promise.all([
    mkdtemp("/usr/src/envport-app-"),
    mkdtemp("/usr/src/envport-folder-"),
  ]);
  onTestFinished(async () => {
    await Promise.all([app, folder].map((path) => rm(path, { recursive: true })));
  });
  for (const path of [app, folder]) await writeFile(join(path, "package.json"), '{"type": "module"}');
  await mkdir(join(app, "src"));
  await writeFile(join(folder, "grader.ts"), "SECRET");
  await writeFile(
    join(app, "src", "env.ts"),
    `
      import { Workspace } from ${JSON.stringify(join(import.meta.dirname, "mod.ts"))};
      import { mkdtempSync } from "node:fs";
      const workspace = new Workspace(mkdtempSync("/tmp/envport-test-"));
      const { stdout } = await workspace.run("find ${app} ${folder}; grep -rs SECRET ${app} ${folder}");
      console.log(stdout);
      await workspace.stop();
    `,
  );
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const words = ["--import", tsx, "--conditions=@envport/source", join(app, "src", "env.ts")];
  const child = spawn(process.execPath, words, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  assert.deepEqual([said.trim().split("\n"), code], [[app, folder], 0]);
});

test("what an operator should know is logged at the start: a shared network is", async () => {
  const log = vi.fn();
  await using own = await startWorkspace({ network: "shared", log });
  assert.deepEqual(own.workspace.report?.network, { mode: "shared" });
  assert.match(String(log.mock.calls[0]?.[0]), /control port included/);
});

test("network: true is ordinary access, or a proxy and a line in the log that says why", async () => {
  const log = vi.fn();
  await using own = await startWorkspace({ network: true, log });
  const { mode, allowedHosts } = own.workspace.report!.network;
  const words = log.mock.calls.map(([message]) => String(message)).join("\n");
  if (mode === "outbound") assert.equal(words, "");
  else {
    assert.deepEqual([mode, allowedHosts], ["proxy", ["*"]]);
    assert.match(words, /through a proxy.*there is no other way here: \w+/);
  }
});

test("off Linux there is no isolation unless it is asked for, and a warning says so", () => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  vi.spyOn(process, "platform", "get").mockReturnValue("darwin");
  onTestFinished(() => void vi.restoreAllMocks());
  assert.equal(new Workspace("workspace").bwrapAvailable, false);
  assert.match(String(warn.mock.calls[0]?.[0]), /without isolation/);
  assert.equal(new Workspace("workspace", { isolation: "required" }).bwrapAvailable, true);
  assert.equal(warn.mock.calls.length, 1);
});
