import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { PublishedCapability } from "@envport/wire";
import { expect, onTestFinished, test } from "vitest";
import { silent } from "./_testing.ts";
import { familyOf, isGone, statusOf, wordsOf } from "./_testing_processes.ts";
import { CdpClient } from "./cdp_client.ts";
import { chromium } from "./chromium.ts";
import type { ChromiumOptions } from "./chromium_options.ts";
import { ChromiumService } from "./chromium_service.ts";

/** A program that is taken for a browser. */
function program(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), "envport-cdp-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  const path = join(folder, "browser");
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

test.each([
  [{ args: ["--remote-debugging-port=9222"] }, TypeError, "this word is the service's own"],
  [{ args: ["--remote-allow-origins=*"] }, TypeError, "this word is the service's own"],
  [{ args: ["https://example.com"] }, TypeError, "its words must begin with '--'"],
  [
    { viewport: { width: 0, height: 5 } },
    RangeError,
    "viewport width must be 1 to 16384: current value is 0",
  ],
  [{ sandbox: false, allowedHosts: [] }, TypeError, "'allowedHosts' must go with a sandbox"],
  [{ peers: [{ name: "Shop", port: 80, target: { port: 1 } }] }, TypeError, "must be a lower-case host name"],
  [
    { peers: [{ name: "a,MAP b", port: 80, target: { port: 1 } }] },
    TypeError,
    "must be a lower-case host name",
  ],
  [{ peers: [{ name: "localhost", port: 80, target: { port: 1 } }] }, TypeError, "not mean the loopback"],
  [{ peers: [{ name: "shop", port: 0, target: { port: 1 } }] }, RangeError, "its port must be 1 to 65535"],
  [
    { peers: [1, 2].map((port) => ({ name: "shop", port: 80, target: { port } })) },
    TypeError,
    'its name and port must be its own: current value is "shop:80"',
  ],
  [{ sandbox: true, headless: false }, TypeError, "a sandbox has no display"],
] satisfies [ChromiumOptions, ErrorConstructor, string][])(
  "options %j are refused",
  (options, kind, message) => {
    expect(() => chromium(options)).toThrow(kind);
    expect(() => chromium(options)).toThrow(message);
  },
);

test("what ends at once is told with its own words, and leaves nothing", async () => {
  const service = chromium({ executablePath: program("echo 'error while loading' >&2; exit 3") });
  await expect(service.start()).rejects.toMatchObject({
    code: "service-failed",
    message: expect.stringMatching(/it ended: exit code 3.*error while loading/),
  });
  expect(() => service.home).toThrow("it must be started");
});

test("what never answers is given up and ended, after its time or by a signal", async () => {
  const executablePath = program("exec sleep 1000");
  const before = familyOf(process.pid).length;
  await expect(chromium({ executablePath, startTimeout: 300 }).start()).rejects.toMatchObject({
    code: "service-failed",
    message: expect.stringContaining("it did not answer within 300 ms"),
  });
  const giveUp = new AbortController();
  const starting = chromium({ executablePath }).start({ signal: giveUp.signal });
  setTimeout(() => giveUp.abort(new Error("enough")), 100);
  await expect(starting).rejects.toThrow("enough");
  assert.equal(familyOf(process.pid).length, before);
});

test("a browser without a sandbox to use says how to get one", async () => {
  const said = "[1:1] No usable sandbox! If you are running on Ubuntu 23.10+";
  const service = chromium({ executablePath: program(`echo '${said}' >&2; exit 1`) });
  await expect(service.start()).rejects.toThrow("kernel.apparmor_restrict_unprivileged_userns=0");
});

test.each([false, true])(
  "Chromium keeps its own sandbox and is not root; after stop() nothing is left (sandbox: %s)",
  { timeout: 60_000 },
  async (sandbox) => {
    const before = new Set(familyOf(process.pid));
    const service = chromium({ sandbox, viewport: { width: 800, height: 600 } });
    const [capability] = await service.start();
    assert.equal((await service.start())[0]!.url, capability!.url);
    const { home } = service;
    const family = familyOf(process.pid).filter((pid) => !before.has(pid));
    const renderers = family.filter((pid) => wordsOf(pid).includes("--type=renderer"));
    assert.notEqual(renderers.length, 0);
    for (const pid of renderers) {
      const status = statusOf(pid)!;
      assert.equal(status.get("Seccomp"), "2");
      assert.notEqual(status.get("Uid")!.split("\t")[1], "0");
      // Its own namespace of processes, and outside that one the sandbox's.
      assert.equal(status.get("NSpid")!.split("\t").length, sandbox ? 4 : 3);
    }
    await service.stop();
    await service.stop();
    await expect.poll(() => family.filter((pid) => !isGone(pid))).toEqual([]);
    assert.equal(existsSync(home), false);
    assert.equal(await service.closed, undefined);
  },
);

test(
  "a browser that is killed is told by `closed`, and may be started again",
  { timeout: 60_000 },
  async () => {
    await using service = chromium();
    const [first] = await service.start();
    const client = await CdpClient.connect(first!);
    onTestFinished(() => client.close());
    const waiting = client.page.evaluate("new Promise(() => {})");
    const [pid] = familyOf(process.pid).filter((member) => /--remote-debugging-port/.test(wordsOf(member)));
    process.kill(pid!, "SIGKILL");
    await expect(waiting).rejects.toMatchObject({ code: "connection-lost" });
    expect(await service.closed).toMatchObject({ message: "the browser ended: SIGKILL" });
    await service.stop();
    const [second] = await service.start();
    await using again = await CdpClient.connect(second!);
    assert.equal(await again.page.evaluate("1"), 1);
  },
);

test.each([false, true])(
  "SIGKILL of the serving process leaves no process behind (sandbox: %s)",
  { timeout: 60_000 },
  async (sandbox) => {
    const script = join(import.meta.dirname, "testdata/service.ts");
    const words = ["--import", "tsx", "--conditions=@envport/source", script, JSON.stringify({ sandbox })];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface(child.stdout);
    const [line] = (await once(lines, "line")) as [string];
    const { home, capability } = JSON.parse(line) as { home: string; capability: PublishedCapability };
    onTestFinished(() => rmSync(join(home, ".."), { recursive: true, force: true, maxRetries: 5 }));
    assert.equal("path" in (capability.dial ?? {}), sandbox);
    const family = familyOf(child.pid!);
    assert(family.length > 5);
    child.kill("SIGKILL");
    await expect.poll(() => family.filter((pid) => !isGone(pid)), { timeout: 5_000 }).toEqual([]);
  },
);

test("--no-sandbox is used where it is named, with a warning", { timeout: 60_000 }, async () => {
  const told: string[] = [];
  const logger = { ...silent, log: (_: unknown, message: string) => void told.push(message) };
  await using service = new ChromiumService({ args: ["--no-sandbox"], logger });
  const before = new Set(familyOf(process.pid));
  await service.start();
  const family = familyOf(process.pid).filter((pid) => !before.has(pid));
  const renderers = family.filter((pid) => wordsOf(pid).includes("--type=renderer"));
  assert.equal(statusOf(renderers[0]!)!.get("NSpid")!.split("\t").length, 1);
  assert.deepEqual(told, ["chromium 'browser' runs without Chromium's own sandbox"]);
});
