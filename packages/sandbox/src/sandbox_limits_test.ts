import { describe, expect, onTestFinished, test } from "vitest";
import { run, temporaryFolder, until } from "./_testing.ts";
import { Sandbox } from "./sandbox.ts";
import type { SandboxLimits } from "./sandbox_options.ts";

const MIB = 2 ** 20;

async function limited(limits: SandboxLimits): Promise<Sandbox> {
  const sandbox = new Sandbox({ root: temporaryFolder(), limits });
  onTestFinished(() => sandbox.stop());
  await sandbox.start();
  return sandbox;
}

/** Starts sleeping processes until the system refuses, at most 150, and says how many came up. */
const FORKS = `perl -e '$n=0; for (1..150) { $p = fork; last unless defined $p; if (!$p) { sleep 100; exit } $n++ } print "$n\\n"; kill 9, -$$'`;

describe("limits", () => {
  test("on processes stop a fork bomb, and the sandbox goes on after it", async () => {
    const sandbox = await limited({ processes: 60 });
    const { out } = await run(sandbox, `${FORKS} & wait`);
    expect(Number(out)).toBeGreaterThan(20);
    expect(Number(out)).toBeLessThan(60);
    expect((await run(sandbox, "echo on")).out).toBe("on\n");
  });

  test("on processes survive a bomb that goes off while commands start", async () => {
    const sandbox = await limited({ processes: 60 });
    const bomb = await sandbox.spawn({ argv: ["bash", "-c", "while :; do sleep 100 & done 2>/dev/null"] });
    const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => run(sandbox, "true")));
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "spawn-failed" });
    }
    bomb.signal("SIGKILL");
    await bomb.exit;
    await until(
      async () => (await run(sandbox, "echo on").catch(() => ({ out: "" }))).out === "on\n",
      5000,
      "it goes on",
    );
  });

  test("on memory are named with what enforces them, and hold", async () => {
    const sandbox = await limited({ memory: 300 * MIB });
    expect(sandbox.report.limits.memory).toEqual({
      value: 300 * MIB,
      by: expect.stringMatching(/^(cgroup|rlimit)$/),
    });
    const hog = await run(sandbox, "perl -e '$x = \"x\" x 500_000_000; print length $x'");
    expect(hog.out).toBe("");
    expect(hog.code).not.toBe(0);
    expect((await run(sandbox, "perl -e '$x = \"x\" x 50_000_000; print length $x'")).out).toBe("50000000");
  });

  test("on directories in memory hold for /tmp and /dev/shm, and nothing else there is writable", async () => {
    const sandbox = await limited({ tmpfs: 4 * MIB });
    for (const folder of ["/tmp", "/dev/shm"]) {
      const { err } = await run(sandbox, `head -c 8388608 /dev/zero > ${folder}/big; rm ${folder}/big`);
      expect(err).toContain("No space left on device");
    }
    const { out } = await run(
      sandbox,
      "for d in / /dev /run /run/envport /var /etc /usr /home /root /var/tmp; do touch $d/x 2>/dev/null && echo $d; done",
    );
    expect(out).toBe("/var/tmp\n");
  });

  test("on the size of a file hold", async () => {
    const sandbox = await limited({ fileSize: MIB });
    const { code, out } = await run(sandbox, "head -c 3000000 /dev/zero > big; stat -c %s big");
    expect(out).toBe(`${MIB}\n`);
    expect(code).toBe(0);
    expect((await run(sandbox, "head -c 3000000 /dev/zero | wc -c")).out).toBe("3000000\n");
  });

  test("on a command's time kill it and say so", async () => {
    const sandbox = await limited({ wallTime: 1500 });
    expect(await run(sandbox, "echo before; sleep 100")).toEqual({
      out: "before\n",
      err: "",
      code: null,
      signal: "SIGHUP",
      limit: "wallTime",
    });
    expect(await run(sandbox, "echo quick")).toEqual({ out: "quick\n", err: "", code: 0, signal: null });
  });

  test("on a command's output kill it and say so", async () => {
    const sandbox = await limited({ output: 100_000 });
    const outcome = await run(sandbox, "yes");
    expect(outcome).toMatchObject({ limit: "output" });
    expect(await run(sandbox, "head -c 100000 /dev/zero | tr '\\0' x")).toMatchObject({ code: 0 });
    expect(await run(sandbox, "head -c 50001 /dev/zero >&2; head -c 50000 /dev/zero; exit 1")).toMatchObject({
      limit: "output",
    });
  });

  test("have defaults for processes and directories in memory", async () => {
    const sandbox = await limited({});
    expect(sandbox.report.limits).toMatchObject({
      processes: { value: 1024 },
      tmpfs: { value: 2 ** 31, by: "mount" },
    });
    expect((await run(sandbox, "ulimit -c; ulimit -u; df --output=size -B1 /tmp | tail -1")).out).toBe(
      "0\n1024\n2147483648\n",
    );
  });

  test("that make no sense are refused", async () => {
    const sandbox = new Sandbox({ root: temporaryFolder(), limits: { memory: -1 } });
    await expect(sandbox.start()).rejects.toThrow(
      'Cannot limit memory as the limit is no positive integer: current value is "-1"',
    );
  });
});
