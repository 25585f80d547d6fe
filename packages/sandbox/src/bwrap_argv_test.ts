import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bwrapArgv, isWithin } from "./bwrap_argv.ts";
import type { BwrapLayout } from "./bwrap_argv.ts";
import type { Mount } from "./mount.ts";
import { SandboxError } from "./sandbox_error.ts";

const LAYOUT: BwrapLayout = {
  mounts: [
    { kind: "ro", src: "/usr", dst: "/usr" },
    { kind: "symlink", src: "usr/bin", dst: "/bin" },
    { kind: "proc", dst: "/proc" },
    { kind: "dev", dst: "/dev" },
    { kind: "tmpfs", dst: "/tmp" },
  ],
  masks: [
    { path: "/usr/src/app", kind: "directory" },
    { path: "/usr/key", kind: "file" },
  ],
  files: [{ fd: 6, dst: "/run/envport/agent.cjs" }],
  root: "/srv/task",
  guestPath: "/workspace",
  fds: { info: 4, block: 5, seccomp: 7 },
  tmpfs: 1024,
  path: "/usr/bin",
};

describe("bwrapArgv()", () => {
  test("turns a layout into exactly these words", () => {
    expect(bwrapArgv(LAYOUT).join(" ").replaceAll(" --", "\n--").split("\n")).toEqual([
      "--die-with-parent",
      "--new-session",
      "--unshare-user",
      "--disable-userns",
      "--unshare-pid",
      "--unshare-ipc",
      "--unshare-uts",
      "--unshare-cgroup-try",
      "--unshare-net",
      "--cap-drop ALL",
      "--hostname workspace",
      "--clearenv",
      "--setenv PATH /usr/bin",
      "--info-fd 4",
      "--block-fd 5",
      "--seccomp 7",
      "--perms 0755",
      "--dir /run",
      "--perms 0755",
      "--dir /run/envport",
      "--perms 0755",
      "--dir /run/envport/bin",
      "--perms 0755",
      "--dir /var",
      "--ro-bind /usr /usr",
      "--symlink usr/bin /bin",
      "--proc /proc",
      "--dev /dev",
      "--perms 1777",
      "--size 1024",
      "--tmpfs /dev/shm",
      "--remount-ro /dev",
      "--perms 1777",
      "--size 1024",
      "--tmpfs /tmp",
      "--perms 0555",
      "--tmpfs /usr/src/app",
      "--remount-ro /usr/src/app",
      "--ro-bind /dev/null /usr/key",
      "--perms 0444",
      "--ro-bind-data 6 /run/envport/agent.cjs",
      "--bind /srv/task /workspace",
      "--chdir /workspace",
      "--remount-ro /",
    ]);
  });

  test("leaves out the filter and the network namespace where told", () => {
    const argv = bwrapArgv({ ...LAYOUT, fds: undefined, shareNetwork: true });
    expect(argv).not.toContain("--info-fd");
    expect(argv).not.toContain("--block-fd");
    expect(argv).not.toContain("--seccomp");
    expect(argv).not.toContain("--unshare-net");
  });

  test("makes no mount point in what the agent can write, whatever the mounts", () => {
    const path = fc
      .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 })
      .map((parts) => `/${parts.join("/")}`);
    const kind = fc.constantFrom<Mount["kind"]>("ro", "rw", "tmpfs", "symlink");
    const mount = fc.record({ kind, src: path, dst: path });
    const mask = fc.record({ path, kind: fc.constantFrom<"file" | "directory">("file", "directory") });
    fc.assert(
      fc.property(
        fc.array(mount, { maxLength: 6 }),
        fc.array(mask, { maxLength: 2 }),
        path,
        path,
        (mounts, masks, root, guestPath) => {
          let argv: string[];
          try {
            argv = bwrapArgv({ ...LAYOUT, mounts, masks, root, guestPath });
          } catch (error) {
            expect(error).toBeInstanceOf(SandboxError);
            return;
          }
          const points = argv.flatMap((word, index) =>
            ["--bind", "--ro-bind", "--symlink", "--ro-bind-data"].includes(word)
              ? [argv[index + 2]!]
              : word === "--tmpfs"
                ? [argv[index + 1]!]
                : [],
          );
          const writable = [...mounts.filter((one) => one.kind === "rw").map(({ dst }) => dst), guestPath];
          for (const point of points)
            for (const folder of writable) expect(point !== folder && isWithin(point, folder)).toBe(false);
          expect(argv.slice(-7)).toEqual([
            "--bind",
            root,
            guestPath,
            "--chdir",
            guestPath,
            "--remount-ro",
            "/",
          ]);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

test("isWithin() compares whole names", () => {
  expect(isWithin("/a/b", "/a")).toBe(true);
  expect(isWithin("/a", "/a")).toBe(true);
  expect(isWithin("/ab", "/a")).toBe(false);
  expect(isWithin("/a", "/a/b")).toBe(false);
  expect(isWithin("/a", "/")).toBe(true);
});
