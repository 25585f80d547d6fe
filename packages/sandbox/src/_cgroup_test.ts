import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Cgroup } from "./_cgroup.ts";
import { temporaryFolder } from "./_testing.ts";

/** A folder in place of a hierarchy. The kernel would make the files of a new group: `seed` does, before its limits. */
function hierarchy(
  version: 1 | 2,
  controllers: readonly string[],
  own: string,
): { proc: string; point: string; own: string } {
  const proc = temporaryFolder();
  const point = join(temporaryFolder(), "cgroup");
  mkdirSync(join(point, own), { recursive: true });
  const type = version === 2 ? "cgroup2 cgroup2 rw" : `cgroup cgroup rw,${controllers.join(",")}`;
  writeFileSync(
    join(proc, "mountinfo"),
    `25 20 0:22 / /sys rw shared:7 - sysfs sysfs rw\n30 25 0:26 / ${point} rw,nosuid - ${type}\n`,
  );
  writeFileSync(join(proc, "cgroup"), version === 2 ? `0::${own}\n` : `5:${controllers.join(",")}:${own}\n`);
  if (version === 2) writeFileSync(join(point, "cgroup.controllers"), `cpu ${controllers.join(" ")}\n`);
  return { proc, point, own: join(point, own) };
}

describe("Cgroup", () => {
  test("enforces nothing where there is no hierarchy, and takes processes all the same", async () => {
    const group = new Cgroup({ memory: 1e9, processes: 10 }, temporaryFolder());
    expect([group.enforces("memory"), group.enforces("processes")]).toEqual([false, false]);
    group.confine([process.pid]);
    await group.release();
  });

  test("leaves nothing where a group's files do not take the limits", () => {
    const { proc, own } = hierarchy(2, ["memory", "pids"], "/system.slice/serve.service");
    writeFileSync(join(own, "cgroup.subtree_control"), "memory pids\n");
    const group = new Cgroup({ memory: 1e9 }, proc);
    expect(group.enforces("memory")).toBe(false);
    expect(readdirSync(own)).toEqual(["cgroup.subtree_control"]);
  });

  test("asks for nothing that was not limited", () => {
    const { proc, own } = hierarchy(1, ["memory"], "/x");
    expect(new Cgroup({}, proc).enforces("memory")).toBe(false);
    expect(readdirSync(own)).toEqual([]);
  });

  test("removes the groups of serving processes that are gone", () => {
    const { proc, own } = hierarchy(1, ["pids"], "/");
    const gone = Number(execFileSync("sh", ["-c", "echo $$"], { encoding: "utf8" }));
    mkdirSync(join(own, `envport-${gone}-01234567`));
    mkdirSync(join(own, `envport-${process.pid}-01234567`));
    mkdirSync(join(own, "somebody-else"));
    new Cgroup({ processes: 5 }, proc);
    expect(readdirSync(own).sort()).toEqual([`envport-${process.pid}-01234567`, "somebody-else"]);
  });

  test.runIf(process.getuid!() === 0 && existsSync("/sys/fs/cgroup/pids/cgroup.procs"))(
    "makes a real group with a limit, and removes it",
    async () => {
      const group = new Cgroup({ processes: 7, memory: 64 * 2 ** 20 });
      expect([group.enforces("processes"), group.enforces("memory")]).toEqual([true, true]);
      const mine = readdirSync("/sys/fs/cgroup/pids").filter((name) =>
        name.startsWith(`envport-${process.pid}-`),
      );
      expect(mine.map((name) => readFileSync(`/sys/fs/cgroup/pids/${name}/pids.max`, "utf8"))).toContain(
        "7\n",
      );
      await group.release();
      expect(mine.every((name) => existsSync(`/sys/fs/cgroup/pids/${name}`))).toBe(false);
    },
  );
});
