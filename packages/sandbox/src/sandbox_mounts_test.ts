import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { run, temporaryFolder } from "./_testing.ts";
import { defaultSystemMounts } from "./default_system_mounts.ts";
import type { Mount } from "./mount.ts";
import { Sandbox } from "./sandbox.ts";
import type { SandboxOptions } from "./sandbox_options.ts";

function sandboxOf(options: Partial<SandboxOptions>): Sandbox {
  const sandbox = new Sandbox({ root: temporaryFolder(), ...options });
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

/** A folder with one file in it. */
function folderWith(name: string, content: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, name), content);
  return folder;
}

describe("mounts", () => {
  test("of every kind appear as told", async () => {
    const ro = folderWith("a", "read-only");
    const rw = folderWith("b", "writable");
    chmodSync(rw, 0o777);
    const sandbox = sandboxOf({
      mounts: [
        { kind: "ro", src: ro, dst: "/data/ro" },
        { kind: "rw", src: rw, dst: "/data/rw" },
        { kind: "ro", src: join(ro, "a"), dst: "/data/file" },
        { kind: "tmpfs", dst: "/scratch" },
        { kind: "ro", src: ro, dst: "/scratch/below" },
        { kind: "symlink", src: "/data/ro", dst: "/link" },
        { kind: "ro", src: "/no/such/path", dst: "/nothing", optional: true },
      ],
    });
    const { out } = await run(
      sandbox,
      "cat /data/ro/a /data/rw/b /data/file /link/a /scratch/below/a; echo; touch /data/ro/x || echo ro; touch /data/rw/x /scratch/x && echo rw; readlink /link; ls -d /nothing || echo none",
    );
    expect(out).toBe("read-onlywritableread-onlyread-onlyread-only\nro\nrw\n/data/ro\nnone\n");
    expect(readdirSync(rw).sort()).toEqual(["b", "x"]);
  });

  test("of the system can be replaced; /proc, /dev and /tmp are there all the same", async () => {
    const systemMounts = defaultSystemMounts().filter(
      ({ dst }) => !["/etc", "/proc", "/dev", "/tmp"].includes(dst),
    );
    const { out } = await run(
      sandboxOf({ systemMounts }),
      "ls /etc; touch /tmp/x && echo ok; echo x > /dev/null && cat /proc/sys/kernel/ostype",
    );
    expect(out).toBe("hosts\nok\nLinux\n");
  });

  const root = "/srv";
  test.each<[string, Partial<SandboxOptions>, string]>([
    [
      "below the guest path",
      { mounts: [{ kind: "tmpfs", dst: "/workspace/x" }] },
      'Cannot mount at "/workspace/x" as no mount point may be in the agent-writable "/workspace"',
    ],
    [
      "at the guest path",
      { mounts: [{ kind: "tmpfs", dst: "/workspace/" }] },
      'no mount point may be in the agent-writable "/workspace"',
    ],
    [
      "below a writable mount",
      {
        mounts: [
          { kind: "rw", src: "/var/tmp", dst: "/data" },
          { kind: "tmpfs", dst: "/data/x" },
        ],
      },
      'in the agent-writable "/data"',
    ],
    [
      "below a link",
      {
        mounts: [
          { kind: "symlink", src: "/workspace", dst: "/data" },
          { kind: "tmpfs", dst: "/data/x" },
        ],
      },
      'in the symbolic link "/data"',
    ],
    [
      "with a guest path below a writable mount",
      { guestPath: "/data/ws", mounts: [{ kind: "rw", src: "/var/tmp", dst: "/data" }] },
      'Cannot mount at "/data/ws"',
    ],
    [
      "on a relative path",
      { mounts: [{ kind: "tmpfs", dst: "x" }] },
      'its path inside is not absolute, below "/" and free of "..": current value is "x"',
    ],
    ["on /", { mounts: [{ kind: "tmpfs", dst: "//" }] }, 'current value is "//"'],
    ["through ..", { guestPath: "/workspace/../etc" }, "Cannot place the guest path"],
    [
      "on the spawn server",
      { mounts: [{ kind: "tmpfs", dst: "/run/envport/x" }] },
      '"/run/envport" is reserved',
    ],
    ["over the spawn server", { mounts: [{ kind: "tmpfs", dst: "/run" }] }, '"/run/envport" is reserved'],
    ["of the host's /", { mounts: [{ kind: "ro", src: "/", dst: "/host" }] }, 'it is the host\'s "/"'],
    [
      "of a missing path",
      { mounts: [{ kind: "ro", src: "/no/such", dst: "/x" }] },
      'its host path does not resolve: current value is "/no/such"',
    ],
    ["without a source", { mounts: [{ kind: "ro", dst: "/x" }] }, "a ro mount needs a source"],
    [
      "of a relative source",
      { mounts: [{ kind: "ro", src: "x", dst: "/x" }] },
      "its host path is not absolute",
    ],
    [
      "with a system folder as root",
      { root },
      'Cannot use the root as it is no directory of its own: current value is "/srv"',
    ],
    ["with no root", { root: "/no/such" }, "Cannot mount the root"],
  ])("%s are refused", async (_, options, message) => {
    const starting = sandboxOf(options).start();
    await expect(starting).rejects.toMatchObject({ code: "invalid-mount" });
    await expect(starting).rejects.toThrow(message);
  });

  test("make nothing on the host through links that the agent planted", async () => {
    const host = temporaryFolder();
    chmodSync(host, 0o777);
    const root = temporaryFolder();
    chmodSync(root, 0o777);
    symlinkSync(`/oldroot${host}`, join(root, "link"));
    const below: Mount[] = [
      { kind: "tmpfs", dst: "/workspace/link/made" },
      { kind: "ro", src: "/usr", dst: "/workspace/link/made" },
    ];
    for (const mount of below)
      await expect(sandboxOf({ root, mounts: [mount] }).start()).rejects.toMatchObject({
        code: "invalid-mount",
      });
    // The same directory shown a second time, read-only, is as full of the agent's links.
    const again: Mount[] = [
      { kind: "ro", src: root, dst: "/copy" },
      { kind: "tmpfs", dst: "/copy/link/made" },
    ];
    await expect(sandboxOf({ root, mounts: again }).start()).rejects.toMatchObject({ code: "invalid-mount" });
    expect(readdirSync(host)).toEqual([]);
  });
});

describe("hidden paths", () => {
  test("are masked where a mounted directory shows them", async () => {
    const project = temporaryFolder();
    mkdirSync(join(project, "env", "node_modules"), { recursive: true });
    writeFileSync(join(project, "env", "env.ts"), "the answer is 42");
    writeFileSync(join(project, "key.pem"), "PRIVATE");
    writeFileSync(join(project, "README"), "public");
    symlinkSync("env", join(project, "alias"));
    const sandbox = sandboxOf({
      mounts: [{ kind: "ro", src: project, dst: "/project" }],
      hidden: [
        join(project, "alias"),
        join(project, "env", "env.ts"),
        join(project, "key.pem"),
        "/no/such/path",
      ],
    });
    const { out } = await run(
      sandbox,
      "cat /project/README; echo; ls -A /project/env /project/alias/; cat /project/key.pem; grep -rs -e 42 -e PRIVATE /project; touch /project/env/x || echo read-only; find / -xdev -name env.ts 2>/dev/null",
    );
    expect(out).toBe("public\n/project/alias/:\n\n/project/env:\nread-only\n");
  });

  test.runIf(process.getuid!() === 0)("are masked below a mounted system directory", async () => {
    const app = `/usr/src/sandbox-test-${process.pid}`;
    mkdirSync(app, { recursive: true });
    onTestFinished(() => rmSync(app, { recursive: true }));
    writeFileSync(join(app, "env.ts"), "the answer is 42");
    const open = await run(sandboxOf({}), `cat ${app}/env.ts`);
    expect(open.out).toBe("the answer is 42");
    const closed = await run(
      sandboxOf({ hidden: [app] }),
      `cat ${app}/env.ts; ls -A ${app}; grep -rs "answer is 42" /usr/src`,
    );
    expect(closed.out).toBe("");
  });

  test("may hold the sandbox's own directory", async () => {
    const project = folderWith("env.ts", "the answer");
    const root = join(project, "workspace");
    mkdirSync(root);
    const { out } = await run(sandboxOf({ root, hidden: [project] }), "touch x && ls -A . ..");
    expect(out).not.toContain("env.ts");
    expect(out).toContain("x\n");
  });

  test("that cannot be masked make start() refuse", async () => {
    const root = folderWith("env.ts", "the answer");
    const message = `Cannot start the sandbox as a hidden path would be visible inside, in the mounted "${root}": current value is "${root}/env.ts"; move it elsewhere`;
    await expect(sandboxOf({ root, hidden: [join(root, "env.ts")] }).start()).rejects.toMatchObject({
      code: "hidden-visible",
      message,
    });
    const rw = folderWith("key", "");
    await expect(
      sandboxOf({ mounts: [{ kind: "rw", src: rw, dst: "/rw" }], hidden: [join(rw, "key")] }).start(),
    ).rejects.toMatchObject({ code: "hidden-visible" });
    await expect(sandboxOf({ hidden: ["/usr"] }).start()).rejects.toMatchObject({ code: "hidden-visible" });
    await expect(sandboxOf({ hidden: ["relative"] }).start()).rejects.toThrow(TypeError);
    expect(existsSync(root)).toBe(true);
  });
});
