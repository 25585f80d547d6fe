import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach, onTestFinished, test, vi } from "vitest";
import { makePrivateFolder, removePrivateFolder } from "@envport/wire";
import { startWorkspace } from "./_testing.ts";

const REPOSITORY = resolve(import.meta.dirname, "../../..");

let folder: string;
beforeEach(() => {
  // Workspaces of other tests clean up as well.
  folder = mkdtempSync(join(tmpdir(), "own-"));
  vi.stubEnv("TMPDIR", folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** Serves a workspace from a process of its own; tells its folder. */
async function serveElsewhere(root: string): Promise<{ folder: string; kill: () => Promise<void> }> {
  const source = `
    import { Workspace } from "./packages/workspace/src/mod.ts";
    const workspace = new Workspace(${JSON.stringify(root)}, { hidden: [] });
    await workspace.start();
    console.log(workspace.sshClientKeyPath);
  `;
  const words = ["--import", "tsx", "--conditions=@envport/source", "--input-type=module", "-e", source];
  const child = spawn(process.execPath, words, { cwd: REPOSITORY, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [path] = (await once(child.stdout, "data")) as [Buffer];
  return {
    folder: dirname(String(path).trim()),
    kill: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

test(
  "the next start removes the folder of a server that was killed, and no other",
  { timeout: 60_000 },
  async () => {
    await using box = await startWorkspace();
    const [killed, living] = await Promise.all([
      serveElsewhere(join(box.folder, "one")),
      serveElsewhere(join(box.folder, "two")),
    ]);
    await killed.kill();
    for (const name of ["ssh.sock", "client_key"]) assert.ok(existsSync(join(killed.folder, name)));
    await box.workspace.stop();
    await box.workspace.start();
    assert.ok(!existsSync(killed.folder));
    assert.ok(existsSync(join(living.folder, "ssh.sock")));
    assert.ok(existsSync(dirname(box.workspace.sshClientKeyPath!)));
    await living.kill();
    removePrivateFolder(makePrivateFolder());
    assert.ok(!existsSync(living.folder));
  },
);

test("a folder of another place, or with something else in it, is left alone", () => {
  const mine = makePrivateFolder();
  const [, place, pid, start, random] = /envport-(\w+)-(\d+)-(\d+)-(\w+)$/.exec(mine)!;
  const named = (...parts: (string | undefined)[]): string =>
    join(dirname(mine), ["envport", ...parts].join("-"));
  const abandoned = named(place, pid, String(Number(start) - 1), random);
  const elsewhere = named("00000000", pid, String(Number(start) - 1), random);
  renameSync(mine, abandoned);
  mkdirSync(elsewhere);
  mkdirSync(join(abandoned, "of somebody"));
  removePrivateFolder(makePrivateFolder());
  assert.ok(existsSync(join(abandoned, "of somebody")));
  assert.ok(existsSync(elsewhere));
  rmSync(join(abandoned, "of somebody"), { recursive: true });
  removePrivateFolder(makePrivateFolder());
  assert.ok(!existsSync(abandoned));
});
