import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { DEFAULT_PATH } from "./default_path.ts";
import { launch } from "./_launch.ts";
import { Namespace } from "./_namespace.ts";
import { preparePlan } from "./_prepare_plan.ts";
import { run, temporaryFolder, until } from "./_testing.ts";
import { Sandbox } from "./sandbox.ts";

async function started(): Promise<Sandbox> {
  const sandbox = new Sandbox({ root: temporaryFolder() });
  onTestFinished(() => sandbox.stop());
  await sandbox.start();
  return sandbox;
}

/**
 * Takes the spawn server's place: pidfd_getfd(2), which the same user may use, gives a copy of its descriptor 1, the
 * way to the host. `words` is Perl that prints to it.
 */
const IMPOSTOR = (words: string) => `
  $| = 1; my $p = syscall(434, 2, 0); my $fd = syscall(438, $p, 1, 0);
  die "refused" if $fd < 0; open(my $host, ">&=", $fd) or die; select $host; $| = 1; ${words};`;

describe("an impostor of the spawn server", () => {
  test.each([
    ["garbage", 'print "hello\\n"'],
    ["a line without end", 'print "x" x 200000'],
    ["a descriptor that is no pipe", 'print qq({"op":"slots","slots":[[900,0,1,2]]}\\n)'],
    ["descriptors that are not open", 'print qq({"op":"slots","slots":[[900,7000,7001,7002]]}\\n)'],
    [
      "descriptors of another process",
      'print qq({"op":"slots","slots":[[900,"../../1/fd/0",1,2]]}\\n) x 3; print "over\\n"',
    ],
    [
      "more slots than there can be",
      'print qq({"op":"slots","slots":[) . join(",", ("[1,1,1,1]") x 60) . "]}\\n" for 1 .. 9',
    ],
  ])("that sends %s loses the sandbox, and the next command has a fresh one", async (_, words) => {
    const sandbox = await started();
    const closed = sandbox.closed;
    const open = await sandbox.spawn({ argv: ["sleep", "1000"] });
    // The sandbox may be gone before the report that it has started is read.
    const impostor = sandbox
      .spawn({ argv: ["perl", "-e", `${IMPOSTOR(words)}; sleep 100`] })
      .catch(() => undefined);
    expect(await open.exit).toEqual({ code: null, signal: "SIGKILL" });
    await (
      await impostor
    )?.exit;
    expect(await closed).toMatchObject({ reason: "died" });
    expect((await run(sandbox, "echo fresh")).out).toBe("fresh\n");
  });

  test("that reports on processes that do not exist is not heard", async () => {
    const sandbox = await started();
    const open = await sandbox.spawn({ argv: ["sleep", "1000"] });
    const words = [
      'print qq({"op":"exit","id":$_,"code":0}\\n) for 5000 .. 5200',
      'print qq({"op":"started","id":$_,"pid":1}\\n{"op":"incoming","id":$_,"name":"proxy"}\\n{"op":"what"}\\n) for 5000 .. 5200',
      'print qq({"op":"listening","name":"__proto__"}\\n)',
    ];
    expect(await run(sandbox, { argv: ["perl", "-e", IMPOSTOR(words.join(";"))] })).toMatchObject({
      code: 0,
    });
    expect((await run(sandbox, "echo on")).out).toBe("on\n");
    open.kill();
    expect(await open.exit).toEqual({ code: null, signal: "SIGHUP" });
  });
});

describe("a spawn server that was stopped", () => {
  test("loses the namespace after a while, so that nothing hangs", async () => {
    const options = { root: temporaryFolder() };
    const { plan, release } = preparePlan(options, DEFAULT_PATH, { cgroups: true });
    const agent = readFileSync(join(import.meta.dirname, "_agent.cjs"));
    const namespace = new Namespace(await launch({ ...plan, agent }, undefined), release, 200);
    onTestFinished(() => namespace.stop());
    const command = { env: { PATH: DEFAULT_PATH }, cwd: "/", limits: {} };
    await (
      await namespace.spawn({ ...command, argv: ["bash", "-c", "(sleep 0.1; kill -STOP 2) & true"] })
    ).exit;
    await sleep(300);
    await expect(namespace.spawn({ ...command, argv: ["true"] })).rejects.toMatchObject({ code: "died" });
    expect(await namespace.ended).toEqual({ reason: "died", detail: "its spawn server does not answer" });
  });

  test("loses it as well when it does not kill", { timeout: 30_000 }, async () => {
    const sandbox = new Sandbox({ root: temporaryFolder(), limits: { wallTime: 500 } });
    onTestFinished(() => sandbox.stop());
    const closed = sandbox.closed;
    const process = await sandbox
      .spawn({ argv: ["bash", "-c", "sleep 0.2; kill -STOP 2; sleep 1000"] })
      .catch(() => undefined);
    expect(await process?.exit).toEqual({ code: null, signal: "SIGKILL", limit: "wallTime" });
    expect(await closed).toEqual({ reason: "died", detail: "a process could not be killed" });
    expect((await run(sandbox, "echo fresh")).out).toBe("fresh\n");
  });
});

describe("processes that do not behave", () => {
  test("cannot keep the serving process busy with reports", async () => {
    const sandbox = await started();
    const words = 'my $flood = qq({"op":"what","x":1}\n) x 1000; print $flood while 1';
    const impostor = await sandbox.spawn({
      argv: ["perl", "-e", `select undef, undef, undef, 0.2; ${IMPOSTOR(words)}`],
    });
    await sleep(500);
    const before = process.cpuUsage();
    await sleep(1000);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(0.6);
    impostor.kill();
  });

  test("in the background cannot keep the serving process busy by writing for ever", async () => {
    const sandbox = await started();
    await run(sandbox, "for i in 1 2 3 4; do yes & done; echo started");
    await sleep(200);
    const before = process.cpuUsage();
    await sleep(1000);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(0.5);
    expect((await run(sandbox, "pgrep -c yes")).out).toBe("4\n");
  });

  test("leave no descriptors in the serving process", async () => {
    const count = () => readdirSync("/proc/self/fd").length;
    const before = count();
    const sandbox = await started();
    for (let round = 0; round < 5; round++)
      await Promise.all(Array.from({ length: 40 }, () => run(sandbox, "echo x; echo y >&2")));
    await Promise.all(
      Array.from({ length: 20 }, () => sandbox.spawn({ argv: ["no-such-program"] }).catch(() => {})),
    );
    await until(() => count() < before + 3 * 80, 2000, "open pipes are those of free slots");
    await sandbox.stop();
    await until(
      () => count() <= before + 2,
      2000,
      () => `${count()} descriptors, ${before} before`,
    );
  });
});
