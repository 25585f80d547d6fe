import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, test } from "vitest";
import { runProgram, startWorkspace } from "./_testing.ts";
import type { TestWorkspace } from "./_testing.ts";

let box: TestWorkspace;
beforeAll(async () => {
  box = await startWorkspace();
});
afterAll(async () => {
  await tmux("kill-server");
  await box[Symbol.asyncDispose]();
});

async function tmux(...args: string[]): Promise<string> {
  const { stdout } = await runProgram("tmux", ["-S", join(box.folder, "tmux"), "-f", "/dev/null", ...args]);
  return String(stdout);
}

async function until(pattern: RegExp): Promise<string> {
  let screen = "";
  for (let i = 0; i < 150 && !pattern.test(screen); i++) {
    await sleep(50);
    screen = await tmux("capture-pane", "-p");
  }
  assert.match(screen, pattern);
  return screen;
}

const type = (...keys: string[]): Promise<string> => tmux("send-keys", ...keys);

test(
  "ssh -tt carries a full-screen program, its keys, a resize and its end",
  { timeout: 60_000 },
  async () => {
    await box.workspace.run("seq 1 200 > numbers");
    await tmux(
      "new-session",
      "-d",
      "-x",
      "90",
      "-y",
      "24",
      `ssh -F ${box.config} -tt box; echo code=$?; sleep 60`,
    );
    await until(/\$$/m);
    await type("less numbers", "Enter");
    assert.match(await until(/^23$/m), /^1\n2\n/);
    await type("G");
    await until(/^200$/m);
    await tmux("resize-window", "-x", "60", "-y", "10");
    await type("g");
    const screen = await until(/^1\n2\n3\n4\n5\n6\n7\n8\n9\n/);
    assert.doesNotMatch(screen, /^1[01]$/m);
    await type("q");
    await type("clear; stty size", "Enter");
    await until(/^10 60$/m);
    await type("sleep 100", "Enter");
    await sleep(300);
    await type("C-c");
    await type("echo interrupted=$?", "Enter");
    await until(/^interrupted=130$/m);
    await type("clear; exit 6", "Enter");
    await until(/code=6/);
  },
);
