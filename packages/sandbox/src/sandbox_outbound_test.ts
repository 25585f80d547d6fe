import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync, writeFileSync, copyFileSync, chownSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { planNetwork } from "./_network.ts";
import { preparePlan } from "./_prepare_plan.ts";
import { builtCopy, descendantsOf, isGone, temporaryFolder, until } from "./_testing.ts";
import { defaultSystemMounts } from "./default_system_mounts.ts";
import type { Mount } from "./mount.ts";

vi.setConfig({ testTimeout: 60_000 });

const TESTDATA = join(import.meta.dirname, "testdata");
const NOBODY = 65534;
/** AS 112's, which the internet has and special ranges do not: in a world of the test's own. */
const PUBLIC = "192.175.48.1:8080";
/** Each answers where there is no sandbox, but those of the road itself. */
const REFUSED = {
  "a private network": "10.77.0.1:8080",
  "a shared one": "100.64.0.9:8080",
  "the cloud's metadata": "169.254.169.254:8080",
  "a neighbour": "203.0.113.2:8080",
  "the host": "203.0.113.1:8080",
  "the host by a public address": "192.31.196.1:8080",
  "the host's loopback": "127.0.0.1:8080",
  "any address": "0.0.0.0:8080",
  multicast: "224.0.0.251:8080",
  broadcast: "255.255.255.255:8080",
};
const ROAD = [
  "169.254.1.1:8080",
  "169.254.1.1:53",
  "169.254.2.1:8080",
  "169.254.2.2:8080",
  "169.254.3.1:8080",
];

/** Only root can make namespaces with a network between them. */
const users =
  process.getuid!() === 0
    ? [
        { who: "root", uid: 0 },
        { who: "an ordinary user", uid: NOBODY },
      ]
    : [];

/** Runs a program on a host of its own with an internet behind it. */
function inWorld(uid: number, words: readonly string[]): ReturnType<typeof spawn> {
  const world = ["--net", "--mount", "bash", join(TESTDATA, "outbound_world.sh"), String(uid), ...words];
  const child = spawn("unshare", world, { cwd: "/", stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await once(child, "exit");
  });
  return child;
}

/** A program that tells its number, serves a sandbox with outbound access, and does with it what `use` says. */
async function serving(uid: number, use: string): Promise<string[]> {
  const root = temporaryFolder();
  chownSync(root, uid, uid);
  copyFileSync(join(TESTDATA, "outbound_probe.pl"), join(root, "probe.pl"));
  const source = `
    import { Sandbox } from ${JSON.stringify(await builtCopy())};
    import { text } from "node:stream/consumers";
    const sandbox = new Sandbox({ root: ${JSON.stringify(root)}, network: "outbound" });
    const run = async (...argv) => text((await sandbox.spawn({ argv })).stdout);
    console.log(process.pid);
    await sandbox.start();
    ${use}
  `;
  writeFileSync(join(root, "serve.mjs"), source);
  return [process.execPath, join(root, "serve.mjs")];
}

async function linesOf(child: ReturnType<typeof spawn>): Promise<string[]> {
  return (await text(child.stdout!)).trim().split("\n");
}

describe("network: outbound, by pasta", () => {
  test.each(users)(
    "served by $who reaches public hosts, and neither this host nor private addresses",
    { timeout: 120_000 },
    async ({ uid }) => {
      const targets = [PUBLIC, ...Object.values(REFUSED), ...ROAD];
      const use = `
        console.log(JSON.stringify(sandbox.report.network), sandbox.report.warnings.length);
        console.log(await run("perl", "probe.pl", ...${JSON.stringify(targets)}));
        console.log(await run("bash", "-c", "curl -sS http://some.name.test:8080/; env | grep -ci proxy; grep Cap /proc/self/status | sort -u -k2"));
        await sandbox.stop();
      `;
      const said = await linesOf(inWorld(uid, await serving(uid, use)));
      console.log(said.join("\n"));
      expect(said[1]).toBe('{"mode":"outbound"} 0');
      expect(said.filter((line) => line.startsWith("reached")).sort()).toEqual(
        ["tcp", "udp"].flatMap((kind) =>
          ["by its index", "by the device", "plainly"].map(
            (how) => `reached ${kind} ${PUBLIC} ${how}: internet`,
          ),
        ),
      );
      expect(said.filter((line) => line.startsWith("denied"))).toHaveLength((targets.length - 1) * 8 + 2);
      expect(said.slice(-3)).toEqual(["internet", "0", "CapInh:\t0000000000000000"]);
    },
  );

  test.each(users.slice(0, 1))("the probe reaches all of it where there is no sandbox", async () => {
    const probe = ["perl", join(TESTDATA, "outbound_probe.pl"), PUBLIC, ...Object.values(REFUSED)];
    const said = await linesOf(inWorld(0, probe));
    for (const target of [PUBLIC, ...Object.values(REFUSED)]) {
      expect(
        said.filter((line) => line.startsWith("reached") && line.includes(` ${target} plainly`)),
      ).not.toEqual([]);
    }
  });

  test.each(users)(
    "served by $who leaves nothing, in whatever moment the serving process is killed",
    { timeout: 120_000 },
    async ({ uid }) => {
      const words = await serving(uid, "");
      for (const delay of [0, 30, 60, 90, 120, 150, 200, 300, 2000]) {
        const child = inWorld(uid, words);
        const [said] = (await once(child.stdout!, "data")) as [Buffer];
        const server = Number(String(said));
        const world = readlinkSync(`/proc/${server}/ns/mnt`);
        await sleep(delay);
        const all = descendantsOf(server);
        if (delay === 2000) expect(all.filter(isPasta)).toHaveLength(1);
        process.kill(server, "SIGKILL");
        await once(child, "exit");
        // What began in the last moment was started in the serving process's mount namespace.
        const left = () => [...all.filter((pid) => !isGone(pid)), ...processesIn(world)];
        await until(
          () => left().length === 0,
          2000,
          () => `after ${delay} ms, ${left().join()} is left`,
        );
      }
    },
  );

  test.each(users)("served by $who ends with pasta, and the next command has another", async ({ uid }) => {
    const use = `
      console.log("up");
      const { reason, detail } = await sandbox.closed;
      console.log(reason, detail);
      console.log(await run("curl", "-sS", "http://${PUBLIC}/"));
      await sandbox.stop();
      console.log((await import("node:fs")).readFileSync("/proc/self/task/" + process.pid + "/children", "utf8") + ".");
    `;
    const child = inWorld(uid, await serving(uid, use));
    const said: string[] = [];
    child.stdout!.on("data", (data) => said.push(...String(data).trim().split("\n")));
    await until(() => said.includes("up"), 10_000, "the sandbox runs");
    const [pasta] = descendantsOf(Number(said[0])).filter(isPasta);
    process.kill(pasta!, "SIGKILL");
    await new Promise((done) => child.once("close", done));
    expect(said.slice(2)).toEqual([
      expect.stringMatching(/^died its way to public hosts is gone: pasta ended/),
      "internet",
      ".",
    ]);
  });
});

test("mounts that leave no place for the name server's file are warned of", () => {
  const root = temporaryFolder();
  const warnings = (etc: Mount): readonly string[] => {
    const systemMounts = [...defaultSystemMounts().filter(({ dst }) => dst !== "/etc"), etc];
    return preparePlan({ root, network: "outbound", systemMounts }, "/usr/bin", { cgroups: true }).report
      .warnings;
  };
  expect(warnings({ kind: "ro", src: "/etc", dst: "/etc" })).toEqual([]);
  expect(warnings({ kind: "tmpfs", dst: "/etc" })).toEqual([
    expect.stringContaining("names of public hosts"),
  ]);
});

describe("network: outbound, without pasta", () => {
  test("is the proxy for every public host, and says why", () => {
    const { road, report, warnings, env } = planNetwork(
      { root: "/", network: "outbound" },
      "pasta is not installed",
    );
    expect(road).toBe(false);
    expect(report).toEqual({ mode: "proxy", allowedHosts: ["*"] });
    expect(env).toMatchObject({ https_proxy: "http://127.0.0.1:3128" });
    expect(warnings).toEqual([
      expect.stringMatching(/HTTP and HTTPS alone, through a proxy.*: pasta is not installed$/),
    ]);
  });

  test.each(users)("falls back to it where pasta, started by $who, finds no network", async ({ uid }) => {
    const use = `
      console.log(JSON.stringify(sandbox.report));
      console.log(await run("bash", "-c", "env | grep ^https_proxy"));
      await sandbox.stop();
    `;
    const setpriv = ["setpriv", "--reuid", String(uid), "--regid", String(uid), "--clear-groups"];
    const child = spawn("unshare", ["--net", ...setpriv, ...(await serving(uid, use))], {
      cwd: "/",
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [, report, variable] = await linesOf(child);
    const { network, warnings } = JSON.parse(report!) as { network: object; warnings: string[] };
    expect(network).toEqual({ mode: "proxy", allowedHosts: ["*"] });
    expect(warnings).toEqual([expect.stringContaining("pasta ended: ")]);
    expect(variable).toBe("https_proxy=http://127.0.0.1:3128");
  });
});

function isPasta(pid: number): boolean {
  return !isGone(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith("pasta\0");
}

/** Processes that are in a mount namespace. */
function processesIn(namespace: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/ns/mnt`) === namespace;
      } catch {
        return false;
      }
    });
}
