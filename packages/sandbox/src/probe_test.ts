import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { installLine } from "./_find_bwrap.ts";
import { temporaryFolder } from "./_testing.ts";
import { probe } from "./probe.ts";
import { Sandbox } from "./sandbox.ts";

/** A program in bubblewrap's place. */
function impostor(script: string, mode = 0o755): string {
  const path = join(temporaryFolder(), "bwrap");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, mode);
  return path;
}

/** Says its version, and fails with these words otherwise. */
const failing = (words: string, version = "0.9.0"): string =>
  impostor(
    `[ "$1" = --version ] && { echo "bubblewrap ${version}"; exit; }\necho "bwrap: ${words}" >&2\nexit 1`,
  );

describe("probe()", () => {
  test("finds that this machine can sandbox", async () => {
    expect(await probe()).toEqual({
      available: true,
      bwrap: expect.stringMatching(/^\/.*bwrap$/),
      version: expect.stringMatching(/^\d+\.\d+/),
      seccomp: process.arch === "x64" || process.arch === "arm64",
      pty: true,
    });
  });

  test("names the line that installs a missing bubblewrap", async () => {
    const result = await probe({ bwrap: "/no/such/bwrap" });
    expect(result).toEqual({
      available: false,
      reason: "Cannot sandbox as bubblewrap (bwrap) is not installed",
      remedy: `install it: ${installLine()}`,
    });
    await expect(
      new Sandbox({ root: temporaryFolder(), bwrap: "/no/such/bwrap" }).start(),
    ).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("install it: "),
    });
  });

  test.each([
    ['ID=ubuntu\nID_LIKE="debian"\n', "apt-get install -y bubblewrap"],
    ["NAME=x\nID=fedora\n", "dnf install -y bubblewrap"],
    ["ID=alpine\n", "apk add bubblewrap"],
    ["ID=mine\n", "with the system's package manager, package bubblewrap"],
  ])("knows how %j installs it", (content, line) => {
    const file = join(temporaryFolder(), "os-release");
    writeFileSync(file, content);
    expect(installLine(file)).toBe(line);
  });

  test("refuses a bubblewrap that is too old, or none", async () => {
    expect(await probe({ bwrap: failing("", "0.7.9") })).toEqual({
      available: false,
      reason: 'Cannot sandbox as bubblewrap is older than 0.8: current value is "0.7.9"',
      remedy: "install bubblewrap 0.8 or newer",
    });
    expect(await probe({ bwrap: impostor("echo hello") })).toMatchObject({
      available: false,
      reason: expect.stringContaining('"hello"'),
    });
  });

  test("refuses a bubblewrap that is set-user-ID", async () => {
    const bwrap = impostor("exit 1", 0o4755);
    expect(await probe({ bwrap })).toEqual({
      available: false,
      reason: `Cannot sandbox as bubblewrap is set-user-ID root: current value is "${bwrap}"`,
      remedy: `drop that bit where user namespaces are allowed: chmod u-s ${bwrap}`,
    });
  });

  test.each([
    [
      "loopback: Failed RTM_NEWADDR: Operation not permitted",
      "Ubuntu 24.04",
      "kernel.apparmor_restrict_unprivileged_userns",
    ],
    ["setting up uid map: Permission denied", "AppArmor", "AppArmor profile"],
    [
      "No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.",
      "refuses user namespaces",
      "kernel.unprivileged_userns_clone",
    ],
    ["Creating new namespace failed: Operation not permitted", "refuses user namespaces", "--security-opt"],
    ["Creating new namespace failed: No space left on device", "used up", "user.max_user_namespaces"],
    ["Can't mount proc on /newroot/proc: Operation not permitted", "/proc", "systempaths=unconfined"],
    ["Unknown option --disable-userns", "older than 0.8", "newer bubblewrap"],
  ])("explains %j", async (words, reason, remedy) => {
    const result = await probe({ bwrap: failing(words) });
    expect(result).toEqual({
      available: false,
      reason: expect.stringContaining(reason),
      remedy: expect.stringContaining(remedy),
    });
    expect(result).toMatchObject({ reason: expect.stringContaining(words) });
    await expect(
      new Sandbox({ root: temporaryFolder(), bwrap: failing(words) }).start(),
    ).rejects.toMatchObject({ code: "unavailable" });
  });

  test("passes on what it does not know", async () => {
    expect(await probe({ bwrap: failing("the moon is full") })).toMatchObject({
      available: false,
      reason: 'Cannot start the sandbox as it did not come up: current value is "bwrap: the moon is full"',
    });
  });

  test("gives up when its signal aborts", async () => {
    await expect(probe({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  });
});
