import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import type { Environment } from "@envport/server";
import type { Workspace } from "@envport/workspace";

/** The project that the agent gets: everything of it, and a fault in it. */
const PROJECT = path.resolve(import.meta.dirname, "../../project");

/** Cases that the project's own tests do not have: a repair that only silences them does not pass. */
const HIDDEN_TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { gaps, merge } from "../src/intervals.js";

test("intervals that touch are one, intervals a minute apart are two", () => {
  assert.deepEqual(merge([{ start: 5, end: 7 }, { start: 1, end: 5 }]), [{ start: 1, end: 7 }]);
  assert.equal(merge([{ start: 1, end: 5 }, { start: 6, end: 7 }]).length, 2);
  assert.deepEqual(merge([{ start: 1, end: 9 }, { start: 2, end: 3 }]), [{ start: 1, end: 9 }]);
});

test("gaps lie between bookings and within the day", () => {
  const day = { start: 0, end: 10 };
  assert.deepEqual(gaps([{ start: 2, end: 4 }, { start: 4, end: 6 }], day), [{ start: 0, end: 2 }, { start: 6, end: 10 }]);
  assert.deepEqual(gaps([{ start: 0, end: 12 }], day), []);
});
`;

/**
 * The task `repair`: a small project whose tests do not pass, to be repaired in the shell.
 *
 * @param env Where to register it.
 * @param shell The workspace that the project is put into.
 */
export function registerRepair(env: Environment, shell: Workspace): void {
  env
    .template("repair", {
      description: "Repair a program until its tests pass",
      timeouts: { startMs: 60_000, gradeMs: 60_000 },
    })
    .run(async function* (_args, { signal }) {
      const files = await readProject();
      await shell.run(["rm", "-rf", "meeting-room"], { signal });
      for (const [name, text] of files) await shell.writeFile(`meeting-room/${name}`, text);

      yield "The project in /workspace/meeting-room has a test that fails (npm test). Repair the program; leave the tests alone.";

      // The tests are put back before they are run: what counts is the program.
      for (const [name, text] of files) {
        if (name.startsWith("test/") || name === "package.json")
          await shell.writeFile(`meeting-room/${name}`, text);
      }
      await shell.writeFile("meeting-room/test/hidden.test.js", HIDDEN_TEST);
      const { exitCode } = await shell.run([process.execPath, "--test"], {
        cwd: "/workspace/meeting-room",
        signal,
        timeout: 30_000,
      });
      yield exitCode === 0 ? 1 : 0;
    });
}

/** The project's files by their paths in it. */
async function readProject(): Promise<Map<string, string>> {
  const entries = await readdir(PROJECT, { recursive: true, withFileTypes: true });
  const files = new Map<string, string>();
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    files.set(path.relative(PROJECT, file), await readFile(file, "utf8"));
  }
  return files;
}
