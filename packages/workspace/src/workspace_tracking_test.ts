import { connect } from "@envport/client";
import { filetracking } from "@envport/filetracking";
import { Environment, serve } from "@envport/server";
import { ssh } from "@envport/ssh";
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { workspace } from "./create_workspace.ts";
import { Workspace } from "./workspace.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "envport-test-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

test("workspace() tracks files unless a setting or an option turns it off; new Workspace() does not", () => {
  vi.stubEnv("HUD_FILE_TRACKING_ENABLED", undefined);
  expect(workspace(folder).tracksFiles).toBe(true);
  expect(workspace(folder, { trackFiles: false }).tracksFiles).toBe(false);
  expect(new Workspace(folder).tracksFiles).toBe(false);
  for (const word of ["false", "False", "0", "off", " no "]) {
    vi.stubEnv("HUD_FILE_TRACKING_ENABLED", word);
    expect(workspace(folder).tracksFiles, word).toBe(false);
    expect(workspace(folder, { trackFiles: true }).tracksFiles).toBe(true);
  }
  vi.stubEnv("HUD_FILE_TRACKING_ENABLED", "true");
  expect(workspace(folder).tracksFiles).toBe(true);
});

test("an agent's changes in the sandbox come out of the one port as a patch that git applies", async () => {
  const env = new Environment({ name: "coder" });
  const shell = env.use(workspace(join(folder, "workspace")));
  await using server = await serve(env);
  await shell.writeFile("sum.js", "export const sum = (a, b) => a - b;\n");
  await using client = await connect(server.url);
  expect(client.bindings.map(({ name, protocol, params }) => [name, protocol, params["root"]])).toEqual([
    ["shell", "ssh/2", undefined],
    ["filetracking", "filetracking/1", "/workspace"],
  ]);
  const tracking = await client.open(filetracking);
  expect((await tracking.setup())?.patches.map(({ path }) => path)).toEqual(["sum.js"]);
  cpSync(join(folder, "workspace"), join(folder, "copy"), { recursive: true });

  const agent = await client.open(ssh);
  await agent.run(
    "sed -i 's/a - b/a + b/' sum.js; mkdir docs; echo 'adds' > docs/sum.txt; chmod +x docs/sum.txt",
  );
  const patch = await tracking.toPatch();
  const applied = spawnSync("git", ["apply", "-"], {
    cwd: join(folder, "copy"),
    input: patch,
    encoding: "utf8",
  });
  expect([applied.status, applied.stderr]).toEqual([0, ""]);
  expect(await readFile(join(folder, "copy/sum.js"), "utf8")).toBe("export const sum = (a, b) => a + b;\n");
  expect(await readFile(join(folder, "copy/docs/sum.txt"), "utf8")).toBe("adds\n");
});

test("two workspaces of one environment have trackers of their own", async () => {
  const env = new Environment({ name: "pair" });
  env.use(workspace(join(folder, "one")));
  const other = env.use(workspace(join(folder, "two"), { name: "build" }));
  await using server = await serve(env);
  await using client = await connect(server.url);
  await other.writeFile("two.txt", "2\n");
  const tracking = await client.open(filetracking, "build-filetracking");
  expect((await tracking.diff()).patches.map(({ path }) => path)).toEqual(["two.txt"]);
  expect((await (await client.open(filetracking, "filetracking")).diff()).patches).toEqual([]);
});

test("a workspace without tracking has no such capability, and says so", async () => {
  await using box = new Workspace(join(folder, "workspace"));
  expect((await box.start()).map(({ name }) => name)).toEqual(["shell"]);
  expect(() => box.fileTrackingCapability()).toThrow("'trackFiles' is false");
});

test("a workspace that was stopped takes a new baseline at its next start", async () => {
  await using box = new Workspace(join(folder, "workspace"), { trackFiles: true });
  const first = await box.start();
  await box.stop();
  const second = await box.start();
  expect(second.map(({ name }) => name)).toEqual(["shell", "filetracking"]);
  expect(second[1]!.dial).not.toEqual(first[1]!.dial);
});
