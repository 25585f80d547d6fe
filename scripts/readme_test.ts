import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { examplesIn, root } from "./_examples.ts";

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  server.close();
  return port;
}

/** Runs a program from its TypeScript source in a folder of its own. */
function run(
  file: string,
  cwd: string,
): { stdout: () => string; exit: Promise<number | null>; stop: () => void } {
  const tsx = pathToFileURL(createRequire(path.join(root, "package.json")).resolve("tsx")).href;
  const words = ["--import", tsx, "--conditions=@envport/source", file];
  const child = spawn(process.execPath, words, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  let stdout = "";
  child.stdout.on("data", (chunk) => (stdout += String(chunk)));
  const exit = once(child, "close").then(([code]) => code as number | null);
  return { stdout: () => stdout, exit, stop: () => child.kill("SIGTERM") };
}

test("the environment and the agent of README.md work together", { timeout: 60_000 }, async () => {
  const blocks = examplesIn(path.join(root, "README.md"));
  const code = (kind: string): string => blocks.find(({ info }) => info[0] === kind)!.code;
  const folder = mkdtempSync(path.join(root, "apps/reference-env/.readme-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const port = String(await freePort());
  for (const kind of ["environment", "agent"]) {
    writeFileSync(path.join(folder, `${kind}.ts`), code(kind).replaceAll("8765", port));
  }
  const work = mkdtempSync(path.join(os.tmpdir(), "readme-"));
  onTestFinished(() => rmSync(work, { recursive: true, force: true }));

  const environment = run(path.join(folder, "environment.ts"), work);
  onTestFinished(() => environment.stop());
  const agent = run(path.join(folder, "agent.ts"), work);
  expect(await agent.exit).toBe(0);
  expect(agent.stdout()).toMatch(/Repair it\.\n1\n$/);
  environment.stop();
  expect(await environment.exit).toBe(0);
});
