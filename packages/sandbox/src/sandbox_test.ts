import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { mark, processesWith, run, temporaryFolder, until } from "./_testing.ts";
import { Sandbox } from "./sandbox.ts";
import type { SandboxOptions } from "./sandbox_options.ts";

async function started(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const sandbox = new Sandbox({ root: temporaryFolder(), ...options });
  onTestFinished(() => sandbox.stop());
  await sandbox.start();
  return sandbox;
}

describe("Sandbox", () => {
  test("keeps one namespace for all commands", async () => {
    const sandbox = await started();
    const first = await run(
      sandbox,
      "readlink /proc/self/ns/{pid,net,mnt,ipc,uts,user}; echo left > /tmp/note; sleep 1000 & echo $!",
    );
    const second = await run(
      sandbox,
      "readlink /proc/self/ns/{pid,net,mnt,ipc,uts,user}; cat /tmp/note; pgrep sleep",
    );
    expect(second.out.split("\n").slice(0, 6)).toEqual(first.out.split("\n").slice(0, 6));
    expect(second.out).toContain("left\n");
    expect(second.out.split("\n").at(-2)).toBe(first.out.split("\n").at(-2));
  });

  test("starts once however many ask at the same time", async () => {
    const sandbox = new Sandbox({ root: temporaryFolder() });
    onTestFinished(() => sandbox.stop());
    const [, ...outcomes] = await Promise.all([
      sandbox.start(),
      ...[1, 2, 3].map(() => run(sandbox, "readlink /proc/self/ns/pid")),
    ]);
    expect(new Set(outcomes.map(({ out }) => out)).size).toBe(1);
  });

  test("returns the code a command exits with, or the signal that ended it", async () => {
    const sandbox = await started();
    expect(await run(sandbox, "exit 0")).toMatchObject({ code: 0, signal: null });
    expect(await run(sandbox, "exit 137")).toMatchObject({ code: 137, signal: null });
    expect(await run(sandbox, "kill -KILL $$")).toMatchObject({ code: null, signal: "SIGKILL" });
    expect(await run(sandbox, "kill -TERM $$")).toMatchObject({ code: null, signal: "SIGTERM" });
  });

  test("sends a signal to the whole process group", async () => {
    const sandbox = await started();
    const process = await sandbox.spawn({
      argv: ["bash", "-c", 'sleep 1000 & trap "echo got; exit 7" USR1; echo up; wait'],
    });
    let out = "";
    process.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    await until(() => out === "up\n", 2000, "it is up");
    process.signal("SIGUSR1");
    expect(await process.exit).toEqual({ code: 7, signal: null });
    await until(() => out === "up\ngot\n", 1000, "the trap's output");
    expect((await run(sandbox, "pgrep -c sleep")).out).toBe("0\n");
  });

  test("kills with SIGHUP, and after two seconds what ignores it", async () => {
    const sandbox = await started();
    const polite = await sandbox.spawn({ argv: ["sleep", "1000"] });
    polite.kill();
    expect(await polite.exit).toEqual({ code: null, signal: "SIGHUP" });
    const stubborn = await sandbox.spawn({
      argv: ["bash", "-c", "trap '' HUP; (sleep 1000)& echo up; wait"],
    });
    await new Promise((resolve) => stubborn.stdout.once("data", resolve));
    const before = performance.now();
    stubborn.kill();
    expect(await stubborn.exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(performance.now() - before).toBeGreaterThan(1900);
    await until(async () => (await run(sandbox, "pgrep -c sleep")).out === "0\n", 1000, "the group is gone");
  });

  test("kills the command when its signal aborts, before and after it started", async () => {
    const sandbox = await started();
    await expect(
      sandbox.spawn({ argv: ["true"] }, { signal: AbortSignal.abort(new Error("enough")) }),
    ).rejects.toThrow("enough");
    const early = new AbortController();
    const spawning = sandbox.spawn({ argv: ["sleep", "1001"] }, { signal: early.signal });
    early.abort(new Error("changed my mind"));
    await expect(spawning).rejects.toThrow("changed my mind");
    const late = new AbortController();
    const process = await sandbox.spawn({ argv: ["sleep", "1002"] }, { signal: late.signal });
    late.abort();
    expect(await process.exit).toEqual({ code: null, signal: "SIGHUP" });
    await until(async () => (await run(sandbox, "pgrep -c sleep")).out === "0\n", 1000, "both are gone");
  });

  test("gives commands the environment it was told, and nothing else", async () => {
    const sandbox = await started({ env: { PATH: "/usr/bin:/bin", ODD: " a\nb'\"$x", "WITH-DASH": "1" } });
    process.env.SANDBOX_TEST_SECRET = "secret";
    onTestFinished(() => {
      delete process.env.SANDBOX_TEST_SECRET;
    });
    const { out } = await run(sandbox, { argv: ["env", "-0"], env: { ODD: "over", MORE: "1" } });
    expect(out.split("\0").filter(Boolean).sort()).toEqual([
      "MORE=1",
      "ODD=over",
      "PATH=/usr/bin:/bin",
      "WITH-DASH=1",
    ]);
    const all = await run(sandbox, "cat /proc/*/environ /proc/*/cmdline; env");
    expect(all.out).not.toContain("secret");
  });

  test("has PATH, HOME and LANG by default, and Node on the path", async () => {
    const sandbox = await started();
    const { out } = await run(sandbox, { argv: ["env"] });
    expect(out.match(/^\w+/gm)!.sort()).toEqual(["HOME", "LANG", "PATH"]);
    expect((await run(sandbox, { argv: ["/run/envport/bin/node", "-p", "1+1"] })).out).toBe("2\n");
  });

  test("starts commands in the folder they ask for", async () => {
    const root = temporaryFolder();
    mkdirSync(`${root}/sub`);
    const sandbox = await started({ root, guestPath: "/home/agent/work" });
    expect((await run(sandbox, "pwd")).out).toBe("/home/agent/work\n");
    expect((await run(sandbox, { argv: ["pwd"], cwd: "/home/agent/work/sub" })).out).toBe(
      "/home/agent/work/sub\n",
    );
  });

  test("says why a program cannot be started", async () => {
    const root = temporaryFolder();
    writeFileSync(`${root}/data`, "");
    const sandbox = await started({ root });
    await expect(sandbox.spawn({ argv: ["no-such-program"] })).rejects.toMatchObject({
      code: "spawn-failed",
      message:
        'Cannot run the program as there is no such program inside: current value is "no-such-program"',
    });
    await expect(sandbox.spawn({ argv: ["/workspace/data"] })).rejects.toThrow("it is not executable inside");
    await expect(sandbox.spawn({ argv: ["true"], cwd: "/nowhere" })).rejects.toThrow(
      'the folder "/nowhere" cannot be entered inside',
    );
    await expect(sandbox.spawn({ argv: [] })).rejects.toThrow(TypeError);
    await expect(sandbox.spawn({ argv: ["echo", "a\0b"] })).rejects.toThrow(
      "a word is no string without NUL",
    );
    expect((await run(sandbox, "echo still here")).out).toBe("still here\n");
  });

  test("runs commands of 128 KiB", async () => {
    const sandbox = await started();
    const word = "x".repeat(131_000);
    const { out } = await run(sandbox, { argv: ["printf", "%s", word] });
    expect(out).toBe(word);
    const words = Array.from({ length: 12 }, () => word);
    expect((await run(sandbox, { argv: ["bash", "-c", 'echo "$#"', "bash", ...words] })).out).toBe("12\n");
  });

  test("runs 100 commands at once", async () => {
    const sandbox = await started();
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) => run(sandbox, `echo ${index}; exit ${index}`)),
    );
    expect(outcomes).toEqual(
      Array.from({ length: 100 }, (_, index) => ({ out: `${index}\n`, err: "", code: index, signal: null })),
    );
  });

  test("reaps what commands leave behind", async () => {
    const sandbox = await started();
    await run(sandbox, "for i in $(seq 50); do (setsid sh -c 'sleep 0.2' &) ; done");
    await until(async () => (await run(sandbox, "pgrep -c sleep")).out === "0\n", 3000, "all have ended");
    expect((await run(sandbox, "ps -eo stat= | grep -c Z")).out).toBe("0\n");
  });
});

describe("output", () => {
  test("keeps apart and exact 16 MB on each stream for slow readers", async () => {
    const sandbox = await started();
    const root = randomBytes(8).toString("hex");
    const process = await sandbox.spawn({
      argv: [
        "bash",
        "-c",
        `(seq -f "${root} %.0f" 1 840000 | head -c 16777216) & seq -f "%.0f err" 1 1700000 | head -c 16777216 >&2; wait`,
      ],
    });
    const read = async (stream: AsyncIterable<Buffer>) => {
      let bytes = 0;
      const chunks: Buffer[] = [];
      for await (const chunk of stream) {
        chunks.push(chunk);
        bytes += chunk.length;
        if (chunks.length % 16 === 0) await sleep(5);
      }
      return { bytes, lines: Buffer.concat(chunks).toString().split("\n") };
    };
    const [out, err] = await Promise.all([read(process.stdout), read(process.stderr!)]);
    expect([out.bytes, err.bytes]).toEqual([16_777_216, 16_777_216]);
    expect(out.lines.slice(0, -1).every((line, index) => line === `${root} ${index + 1}`)).toBe(true);
    expect(err.lines.slice(0, -1).every((line, index) => line === `${index + 1} err`)).toBe(true);
    expect(await process.exit).toEqual({ code: 0, signal: null });
  });

  test("comes as it is written", async () => {
    const sandbox = await started();
    const process = await sandbox.spawn({ argv: ["bash", "-c", "echo one; read line; echo got $line"] });
    const chunks = process.stdout[Symbol.asyncIterator]();
    expect(String((await chunks.next()).value)).toBe("one\n");
    process.stdin.write("two\n");
    expect(String((await chunks.next()).value)).toBe("got two\n");
    expect((await chunks.next()).done).toBe(true);
  });

  test("can be opened again through /dev/stdin, /dev/stdout and /dev/stderr", async () => {
    const sandbox = await started();
    const command =
      "echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin; echo tee | tee /dev/stderr";
    expect(await run(sandbox, command, { input: "in\n" })).toEqual({
      out: "out\nin\ntee\n",
      err: "err\ntee\n",
      code: 0,
      signal: null,
    });
  });

  test("ends with the process while background processes still hold it, and those keep on writing", async () => {
    const root = temporaryFolder();
    const sandbox = await started({ root });
    const before = performance.now();
    const { out, err } = await run(
      sandbox,
      "(sleep 2; for i in $(seq 20000); do echo late; done; echo $? > done) & echo started; echo e >&2",
    );
    expect(performance.now() - before).toBeLessThan(1900);
    expect({ out, err }).toEqual({ out: "started\n", err: "e\n" });
    await until(
      async () => (await run(sandbox, "cat done 2>/dev/null")).out === "0\n",
      8000,
      "the background process wrote all",
    );
  });

  test("is whole when the process is gone before anyone reads", async () => {
    const sandbox = await started();
    const process = await sandbox.spawn({ argv: ["bash", "-c", "head -c 60000 /dev/zero; echo end >&2"] });
    expect(await process.exit).toEqual({ code: 0, signal: null });
    await sleep(50);
    expect((await text(process.stdout)).length).toBe(60_000);
    expect(await text(process.stderr!)).toBe("end\n");
  });

  test("that nobody wants any more ends its writer with SIGPIPE", async () => {
    const sandbox = await started();
    const process = await sandbox.spawn({ argv: ["yes"] });
    await new Promise((resolve) => process.stdout.once("data", resolve));
    process.stdout.destroy();
    expect(await process.exit).toEqual({ code: null, signal: "SIGPIPE" });
  });

  test("is not read ahead of its consumer", async () => {
    const sandbox = await started();
    const process = await sandbox.spawn({
      argv: ["bash", "-c", "head -c 10000000 /dev/zero; echo done >&2"],
    });
    const err = text(process.stderr!);
    await sleep(300);
    expect(process.stdout.readableLength).toBeLessThan(300_000);
    expect((await text(process.stdout)).length).toBe(10_000_000);
    expect(await err).toBe("done\n");
  });

  test("takes input to its end, and drops it when the process is gone", async () => {
    const sandbox = await started();
    const input = "x".repeat(5_000_000);
    expect((await run(sandbox, "wc -c", { input })).out).toBe("5000000\n");
    expect(await run(sandbox, "exit 3", { input })).toMatchObject({ code: 3 });
  });
});

describe("the end of a sandbox", () => {
  test("stop() leaves nothing, whatever the processes did", async () => {
    const sandbox = await started();
    const name = mark();
    await run(
      sandbox,
      `for i in 1 2 3; do setsid nohup sleep ${name} > /dev/null 2>&1 & done; (trap '' TERM HUP INT; exec sleep ${name}) &`,
    );
    const open = await sandbox.spawn({ argv: ["sleep", name] });
    await until(() => processesWith(name).length === 5, 2000, "five processes");
    const closed = sandbox.closed;
    await sandbox.stop();
    expect(processesWith(name)).toEqual([]);
    expect(await open.exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(await closed).toEqual({ reason: "stopped", detail: "it was stopped" });
    await sandbox.stop();
    await expect(sandbox.spawn({ argv: ["true"] })).rejects.toMatchObject({ code: "stopped" });
  });

  test("stop() during a start, and before one, works", async () => {
    const early = new Sandbox({ root: temporaryFolder() });
    const starting = early.start();
    await early.stop();
    await expect(starting).rejects.toMatchObject({ code: "stopped" });
    const never = new Sandbox({ root: temporaryFolder() });
    await never.stop();
    expect(await never.closed).toMatchObject({ reason: "stopped" });
  });

  test.each(["kill -9 2", "kill -9 -1", "kill -STOP 2; sleep 0.1; kill -9 2"])(
    "after %s inside the open processes end and the next command has a fresh one",
    async (command) => {
      const root = temporaryFolder();
      const sandbox = await started({ root });
      const name = mark();
      const open = await sandbox.spawn({
        argv: ["bash", "-c", `echo kept > file; echo up; exec sleep ${name}`],
      });
      await new Promise((resolve) => open.stdout.once("data", resolve));
      const closed = sandbox.closed;
      // It may be too quick for the report that it has started.
      const murder = sandbox.spawn({ argv: ["bash", "-c", command] }).catch(() => undefined);
      expect(await open.exit).toEqual({ code: null, signal: "SIGKILL" });
      await (
        await murder
      )?.exit;
      expect(await closed).toMatchObject({ reason: "died" });
      expect(processesWith(name)).toEqual([]);
      expect((await run(sandbox, "cat file; ls -A /tmp")).out).toBe("kept\n");
    },
  );

  test("commands that were waiting when it died are told so", async () => {
    const sandbox = await started();
    await run(sandbox, "true");
    const murder = sandbox.spawn({ argv: ["kill", "-9", "2"] });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, () => sandbox.spawn({ argv: ["sleep", "1000"] })),
    );
    await murder.catch(() => {});
    for (const outcome of outcomes) {
      if (outcome.status === "fulfilled")
        expect(await outcome.value.exit).toEqual({ code: null, signal: "SIGKILL" });
      else expect(outcome.reason).toMatchObject({ code: "died" });
    }
    expect((await run(sandbox, "echo again")).out).toBe("again\n");
  });
});
