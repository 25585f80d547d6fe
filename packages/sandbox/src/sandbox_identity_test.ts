import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { builtCopy, program, run, temporaryFolder } from "./_testing.ts";
import { Sandbox } from "./sandbox.ts";
import type { SandboxOptions } from "./sandbox_options.ts";

const isRoot = process.getuid!() === 0;
const NOBODY = 65534;

function sandboxOf(options: SandboxOptions): Sandbox {
  const sandbox = new Sandbox(options);
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

const owner = (path: string) => {
  const { uid, gid, mode } = statSync(path);
  return `${uid}:${gid} ${(mode & 0o7777).toString(8)}`;
};

describe.runIf(isRoot)("served as root", () => {
  test("runs as the owner of its directory, without groups or capabilities", async () => {
    const root = temporaryFolder();
    chownSync(root, 4321, 4322);
    const sandbox = sandboxOf({ root });
    const { out } = await run(
      sandbox,
      "id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs|Seccomp:|Groups)' /proc/self/status; touch made",
    );
    expect(out.split("\n").slice(0, 3)).toEqual(["4321", "4322", "4322"]);
    expect(out).toMatch(/Groups:\s*\n/);
    for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"])
      expect(out).toContain(`Cap${set}:\t0000000000000000\n`);
    expect(out).toContain("NoNewPrivs:\t1\n");
    expect(out).toContain("Seccomp:\t2\n");
    expect(owner(join(root, "made"))).toBe("4321:4322 644");
    expect(sandbox.report).toMatchObject({
      uid: 4321,
      gid: 4322,
      isolation: "bwrap",
      seccomp: true,
      network: { mode: "none" },
    });
  });

  test("runs as nobody where root owns the directory, which alone changes owner", async () => {
    const root = temporaryFolder();
    mkdirSync(join(root, "sub"));
    writeFileSync(join(root, "sub", "file"), "content");
    writeFileSync(join(root, "README"), "", { mode: 0o600 });
    const sandbox = sandboxOf({ root });
    const { out, err } = await run(
      sandbox,
      "id -u; cat sub/file; touch mine && echo created; touch sub/x || echo refused; cat README",
    );
    expect(out).toBe("65534\ncontentcreated\nrefused\n");
    expect(err).toContain("README: Permission denied");
    expect(owner(root)).toBe(`${NOBODY}:${NOBODY} 755`);
    expect(owner(join(root, "sub"))).toBe("0:0 755");
    expect(owner(join(root, "sub", "file"))).toBe("0:0 644");
    expect(owner(join(root, "mine"))).toBe(`${NOBODY}:${NOBODY} 644`);
  });

  test("leaves a directory alone in which the user can work already", async () => {
    const root = temporaryFolder();
    chmodSync(root, 0o1777);
    expect((await run(sandboxOf({ root }), "touch x && echo ok")).out).toBe("ok\n");
    expect(owner(root)).toBe("0:0 1777");
  });

  test("works in a clone that the user could not enter, and changes no parent", async () => {
    const closed = temporaryFolder();
    const root = join(closed, "deep", "clone");
    mkdirSync(root, { recursive: true });
    writeFileSync(join(closed, "secret"), "s3cret", { mode: 0o644 });
    writeFileSync(join(closed, "deep", "env.ts"), "answer", { mode: 0o644 });
    mkdirSync(join(closed, "data"));
    writeFileSync(join(closed, "data", "set"), "numbers");
    chmodSync(closed, 0o700);
    chmodSync(join(closed, "deep"), 0o700);
    const sandbox = sandboxOf({ root, mounts: [{ kind: "ro", src: join(closed, "data"), dst: "/data" }] });
    const { out } = await run(
      sandbox,
      `id -u; touch made && pwd; cat /data/set; touch /data/x || echo read-only; ls ${closed} 2>&1; ls /proc/1/root`,
    );
    expect(out).toContain("65534\n/workspace\nnumbersread-only\n");
    expect(out).toContain(`cannot access '${closed}'`);
    expect(statSync(join(root, "made")).uid).toBe(NOBODY);
    expect([owner(closed), owner(join(closed, "deep")), owner(join(closed, "secret"))]).toEqual([
      "0:0 700",
      "0:0 700",
      "0:0 644",
    ]);
    expect((await run(sandbox, "grep -E '^(Cap(Eff|Bnd)|NoNewPrivs|Groups)' /proc/self/status")).out).toBe(
      "Groups:\t\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\n".replace(
        "Groups:\t\n",
        "Groups:\t \n",
      ),
    );
    expect((await run(sandbox, "kill -9 2; sleep 1").catch(() => ({ signal: "SIGKILL" }))).signal).toBe(
      "SIGKILL",
    );
    expect((await run(sandbox, "ls")).out).toBe("made\n");
  });

  test("runs as whom it is told, root excepted", async () => {
    const sandbox = sandboxOf({ root: temporaryFolder(), identity: { uid: 5999, gid: 5998 } });
    expect((await run(sandbox, "id -u; id -g; touch x && echo ok")).out).toBe("5999\n5998\nok\n");
    for (const identity of [
      { uid: 0, gid: 5 },
      { uid: 5, gid: 0 },
      { uid: -1, gid: 5 },
      { uid: 1.5, gid: 5 },
      { uid: 2 ** 32 - 1, gid: 5 },
    ]) {
      await expect(sandboxOf({ root: temporaryFolder(), identity }).start()).rejects.toMatchObject({
        code: "invalid-identity",
        message: `Cannot run the sandbox as its user and group are not integers above 0: current value is "${identity.uid}:${identity.gid}"`,
      });
    }
  });
});

/** Runs lines of bash in a sandbox that an ordinary user serves; prints what they print. */
async function servedByNobody(options: Partial<SandboxOptions>, lines: string): Promise<string> {
  const root = temporaryFolder();
  if (isRoot) chownSync(root, NOBODY, NOBODY);
  const source = `
    import { Sandbox } from ${JSON.stringify(await builtCopy())};
    const sandbox = new Sandbox(${JSON.stringify({ ...options, root })});
    const child = await sandbox.spawn({ argv: ["bash", "-c", ${JSON.stringify(lines)}] });
    child.stdout.pipe(process.stdout);
    child.stderr.pipe(process.stderr);
    await child.exit;
    console.log(JSON.stringify(sandbox.report));
    await sandbox.stop();
  `;
  return text(program(source, isRoot ? { uid: NOBODY } : {}).stdout!);
}

describe("served by an ordinary user", () => {
  test("runs as that user, with the same walls", async () => {
    const identity = { uid: 7, gid: 7 };
    const out = await servedByNobody(
      { identity },
      "id -u; touch made && echo ok; echo e > /dev/stderr; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status",
    );
    expect(out).toContain(`${isRoot ? NOBODY : process.getuid!()}\nok\n`);
    for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"])
      expect(out).toContain(`Cap${set}:\t0000000000000000\n`);
    expect(out).toContain("NoNewPrivs:\t1\nSeccomp:\t2\n");
    expect(out).toContain('"isolation":"bwrap","seccomp":true');
  });

  test("bounds processes and memory by resource limits where no control group is to be had", async () => {
    const limits = { memory: 200 * 2 ** 20, processes: 50 };
    const lines = [
      "ulimit -u",
      `perl -e '$x = "x" x 400_000_000; print length $x' 2>&1`,
      "for i in $(seq 80); do sleep 5 & done 2>&1 | grep -c fork",
      "env -0 | sort -z | tr '\\0' ' '",
    ];
    const out = await servedByNobody(
      { limits, env: { PATH: "/usr/bin:/bin", ODD: "a b" } },
      lines.join("; "),
    );
    expect(out).toContain("50\n");
    expect(out).toContain("Out of memory");
    expect(out).toMatch(/ODD=a b PATH=\/usr\/bin:\/bin PWD=\/workspace SHLVL=\d _=\S+ \{/);
    expect(out).toContain(
      '"memory":{"value":209715200,"by":"rlimit"},"processes":{"value":50,"by":"rlimit"}',
    );
  });

  test("keeps what it serves with out of the sandbox's environment", async () => {
    const out = await servedByNobody({}, "env; cat /proc/*/environ | tr '\\0' '\\n'");
    expect(out).not.toContain("CONTROL_TOKEN");
  });
});
