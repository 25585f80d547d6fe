import { EnvportError } from "@envport/wire";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { temporaryFolder, write } from "./_testing.ts";
import { Tracker } from "./_tracker.ts";
import { FileTracker } from "./file_tracker.ts";

const code = (expected: string) => (error: unknown) =>
  error instanceof EnvportError && error.code === expected;

/** The time that this thread has computed so far, in milliseconds, by the kernel's account. */
function computed(): number {
  return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
}

/**
 * The longest time that this thread computes between two turns of its event loop while something happens, in
 * milliseconds. Unlike the delay of a timer it does not grow with what else the machine does.
 */
async function longestTurn(act: () => Promise<unknown>): Promise<number> {
  let [longest, last] = [0, computed()];
  const timer = setInterval(() => {
    const now = computed();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  await sleep(20);
  await act();
  await sleep(20);
  clearInterval(timer);
  return longest;
}

function makeTree(root: string, files: number): void {
  for (let index = 0; index < files; index++) {
    if (index % 100 === 0) mkdirSync(`${root}/${index / 100}`);
    writeFileSync(`${root}/${Math.floor(index / 100)}/${index}.txt`, `content ${index}\n`.repeat(4));
  }
}

test("a FileTracker tells what its methods are for", async () => {
  const root = temporaryFolder();
  write(root, { "a.txt": "1\n" });
  await using tracker = new FileTracker(root);
  await tracker.start();
  await tracker.start();
  write(root, { "a.txt": "2\n" });
  expect(await tracker.setup()).toMatchObject({ files_changed: 1, patches: [{ path: "a.txt" }] });
  write(root, { "b.txt": "3\n" });
  expect(await tracker.diff()).toMatchObject({ files_changed: 1, patches: [{ path: "b.txt" }] });
  write(root, { "c.html": "4\n" });
  const { diff, capture } = await tracker.flush();
  expect(diff).toMatchObject({ files_changed: 1, patches: [{ path: "c.html" }] });
  expect(capture).toMatchObject({ files_captured: 1, files: [{ path: "c.html" }] });
  write(root, { "d.txt": "5\n" });
  assert.equal(await tracker.advance(), undefined);
  assert.equal((await tracker.diff()).files_changed, 0);
  assert.deepEqual(
    (await tracker.snapshot()).files.map(({ path }) => path),
    ["a.txt", "b.txt", "c.html", "d.txt"],
  );
});

test("a FileTracker takes options over into its thread", async () => {
  const root = temporaryFolder();
  await using tracker = new FileTracker(root, { exclude: ["out/"], secrets: ["vault*"], gitignore: false });
  await tracker.start();
  write(root, { ".gitignore": "*", "out/x": "1", "vault.txt": "hunter2", "a.txt": "2" });
  const { patches } = await tracker.diff();
  assert.deepEqual(patches.map(({ path }) => path).sort(), [".gitignore", "a.txt", "vault.txt"]);
  assert.ok(!JSON.stringify(patches).includes("hunter2"));
});

test("calls at the same time are answered one after the other", async () => {
  const root = temporaryFolder();
  await using tracker = new FileTracker(root);
  await tracker.start();
  write(root, { a: "1" });
  const reports = await Promise.all([tracker.diff(), tracker.diff(), tracker.snapshot()]);
  assert.deepEqual(
    reports.map((report) => ("files_changed" in report ? report.files_changed : report.files.length)),
    [...[1, 0, 1]],
  );
});

test("a report that is given up by its signal is told again", async () => {
  const root = temporaryFolder();
  await using tracker = new FileTracker(root);
  await tracker.start();
  write(root, { a: "1" });
  const given = new AbortController();
  const lost = tracker.diff({ signal: given.signal });
  given.abort(new Error("enough"));
  await assert.rejects(lost, /enough/);
  await assert.rejects(tracker.diff({ signal: AbortSignal.abort(new Error("never")) }), /never/);
  assert.equal((await tracker.diff()).files_changed, 1);
  assert.equal((await tracker.diff()).files_changed, 0);
});

test("start() refuses what is no directory, and says why", async () => {
  await using tracker = new FileTracker(`${temporaryFolder()}/missing`);
  await assert.rejects(
    tracker.start(),
    (error) => code("service-failed")(error) && /ENOENT/.test(String(error)),
  );
  mkdirSync(tracker.root);
  await tracker.start();
});

test("a FileTracker that is not started, or is closed, says so", async () => {
  const tracker = new FileTracker(temporaryFolder());
  await assert.rejects(tracker.diff(), /must be started/);
  await tracker.start();
  const pending = tracker.diff().catch((error: unknown) => assert.ok(code("closed")(error)));
  await tracker.close();
  await tracker.close();
  await pending;
  await assert.rejects(tracker.diff(), code("closed"));
  await assert.rejects(tracker.start(), code("closed"));
  assert.equal(await tracker.closed, undefined);
});

test("closing leaves no descriptor open", async () => {
  const before = readdirSync("/proc/self/fd").length;
  for (let round = 0; round < 3; round++) {
    await using tracker = new FileTracker(temporaryFolder());
    await tracker.start();
    await tracker.diff();
  }
  await sleep(100);
  expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before + 2);
});

test("an idle tracker does not keep a program alive", async () => {
  const program = `
    import { FileTracker } from ${JSON.stringify(new URL("./file_tracker.ts", import.meta.url).href)};
    const tracker = new FileTracker(process.argv[1]);
    await tracker.start();
    console.log((await tracker.diff()).files_changed);
  `;
  const words = ["--import", "tsx", "--conditions=@envport/source", "--input-type=module", "-e", program];
  const child = spawn(process.execPath, [...words, temporaryFolder()], { cwd: import.meta.dirname });
  let out = "";
  child.stdout.on("data", (chunk) => (out += String(chunk)));
  const [status] = await once(child, "close");
  assert.equal(status, 0);
  assert.equal(out, "0\n");
});

test(
  "neither a scan nor a large report stops the program for more than 50 ms",
  { timeout: 180_000 },
  async () => {
    const root = temporaryFolder();
    const rewrite = (text: string): void => {
      for (let index = 0; index < 8; index++)
        writeFileSync(`${root}/large${index}.txt`, text.repeat(120_000));
    };
    makeTree(root, 10_000);
    write(root, { "picture.png": Buffer.alloc(5 * 1024 * 1024, "png") });
    rewrite("old\n");
    await using tracker = new FileTracker(root);
    await tracker.start();

    const blocked = await longestTurn(async () => new Tracker(root).start());
    assert.ok(blocked > 50, `the measure must see a scan in this thread: ${blocked}`);
    const turns: number[] = [];
    for (let tries = 0; tries < 3 && !turns.some((turn) => turn < 50); tries++) {
      rewrite(`try ${tries}\n`);
      write(root, { "picture.png": Buffer.alloc(5 * 1024 * 1024, `png${tries}`) });
      const turn = await longestTurn(async () => {
        const { diff, capture } = await tracker.flush();
        assert.deepEqual([diff.files_changed, capture.files_captured], [9, 1]);
        await tracker.diff();
        assert.equal((await tracker.snapshot()).files_scanned, 10_009);
      });
      turns.push(turn);
    }
    assert.ok(Math.min(...turns) < 50, `longest turns in ms: ${turns.join(", ")}`);
  },
);
