import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  builtCopy,
  descendantsOf,
  isGone,
  mark,
  processesWith,
  program,
  temporaryFolder,
  until,
} from "./_testing.ts";

/** A serving process that keeps a sandbox with every kind of process in it. */
async function server(root: string, name: string): Promise<string> {
  return `
    import { Sandbox } from ${JSON.stringify(await builtCopy())};
    const sandbox = new Sandbox({ root: ${JSON.stringify(root)} });
    const idle = ["bash", "-c", "(setsid nohup sleep ${name} >/dev/null 2>&1 &); sleep ${name} & exec sleep ${name}"];
    await sandbox.spawn({ argv: idle });
    await sandbox.spawn({ argv: idle, pty: { rows: 24, cols: 80 } });
    console.log("up");
  `;
}

test.each([
  ["", false],
  [" whose folder the user cannot enter", true],
])("SIGKILL of the serving process leaves nothing of a sandbox%s within two seconds", async (_, closed) => {
  const parent = temporaryFolder();
  const root = join(parent, "root");
  mkdirSync(root);
  if (closed && process.getuid!() === 0) chmodSync(parent, 0o700);
  const name = mark();
  const child = program(await server(root, name));
  await new Promise((resolve) => child.stdout!.once("data", resolve));
  await until(() => processesWith(name).length >= 6, 15_000, "all kinds of processes run");
  const agents = descendantsOf(child.pid!);
  expect(agents.length).toBeGreaterThan(0);
  child.kill("SIGKILL");
  await until(() => processesWith(name).length === 0 && agents.every(isGone), 2000, "nothing is left");
});

test("SIGKILL in any moment of the start leaves nothing", { timeout: 60_000 }, async () => {
  const root = temporaryFolder();
  const name = mark();
  const source = await server(root, name);
  for (let attempt = 0; attempt < 10; attempt++) {
    const child = program(source);
    await until(() => descendantsOf(child.pid!).length > 0, 15_000, "bubblewrap runs");
    const bwrap = descendantsOf(child.pid!);
    await new Promise((resolve) => setTimeout(resolve, attempt * 8));
    const all = new Set([...bwrap, ...descendantsOf(child.pid!)]);
    child.kill("SIGKILL");
    await until(
      () => [...all].every(isGone) && processesWith(name).every((pid) => !isBwrap(pid)),
      2000,
      `attempt ${attempt}`,
    );
  }
  await until(() => processesWith(name).length === 0, 2000, "nothing is left");
});

const isBwrap = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/comm`, "latin1") === "bwrap\n";
  } catch {
    return false;
  }
};
