// The protocol's own conformance suite: our service, directly and through a served environment, and our client.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished, test } from "vitest";
import { started, tunnelled } from "./_testing.ts";

const require = createRequire(import.meta.url);
const suite = join(require.resolve("@modelcontextprotocol/conformance/package.json"), "../dist/index.js");
const testdata = join(import.meta.dirname, "testdata");
const VERSION = "2025-11-25";
/** Scenarios of the client side; all others are about OAuth. */
const SCENARIOS = [
  "initialize",
  "tools_call",
  "elicitation-sep1034-client-defaults",
  "sse-retry",
  "json-schema-2020-12-preservation",
];

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

/** Runs the suite to its end. */
async function conformance(...args: string[]): Promise<{ code: number; output: string; checks: Check[] }> {
  const folder = await mkdtemp(join(tmpdir(), "envport-conformance-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const hook = join(testdata, "conformance_hook.mjs");
  const child = spawn(process.execPath, ["--import", hook, suite, ...args, "--output-dir", folder], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit") as Promise<[number]>,
  ]);
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith("checks.json"));
  const read = files.map(async (file) => JSON.parse(await readFile(join(folder, file), "utf8")) as Check[]);
  return { code, output: stdout + stderr, checks: (await Promise.all(read)).flat() };
}

function failed(checks: Check[]): Check[] {
  return checks.filter(({ status }) => status !== "SUCCESS" && status !== "INFO" && status !== "SKIPPED");
}

async function assertServerConforms(url: string): Promise<void> {
  const { code, output, checks } = await conformance("server", "--url", url, "--requirements", VERSION);
  assert.deepEqual(failed(checks), [], output.slice(-3_000));
  assert.equal(code, 0, output.slice(-3_000));
  assert.match(output, /84 passed, 0 failed/);
}

test("the service passes every server scenario", { timeout: 120_000 }, async () => {
  const { capability } = await started();
  await assertServerConforms(capability.url);
});

test(
  "the service passes every server scenario through forwarder and tunnel",
  { timeout: 120_000 },
  async () => {
    const service = await started();
    const client = await tunnelled(service);
    await assertServerConforms(client.binding("mcp").url);
  },
);

test.each(SCENARIOS)(
  "the client passes the scenario %s through forwarder and tunnel",
  { timeout: 60_000 },
  async (scenario) => {
    const command = `${process.execPath} --import tsx --conditions=@envport/source ${join(testdata, "conformance_client.ts")}`;
    const args = ["--command", command, "--scenario", scenario, "--spec-version", VERSION];
    const { code, output, checks } = await conformance("client", ...args);
    assert.deepEqual(failed(checks), [], output.slice(-3_000));
    assert.notEqual(checks.filter(({ status }) => status === "SUCCESS").length, 0, output.slice(-3_000));
    assert.equal(code, 0, output.slice(-3_000));
  },
);

test("the suite notices a server that does not conform", { timeout: 120_000 }, async () => {
  // Whoever lets another machine's page in fails the check against DNS rebinding.
  const { capability } = await started(undefined, { allowedHostnames: ["evil.example.com"] });
  const args = ["--url", capability.url, "--scenario", "dns-rebinding-protection", "--spec-version", VERSION];
  const { code, checks } = await conformance("server", ...args);
  assert.notEqual(failed(checks).length, 0);
  assert.equal(code, 1);
});
