import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { onTestFinished, test } from "vitest";
import { temporaryFolder, write } from "./_testing.ts";
import { Tracker } from "./_tracker.ts";

const SCANS = 50_000;
const SECRET_BYTES = 7919;
const SIZES = ["size", "size_before", "size_after"].map((key) => `"${key}":${String(SECRET_BYTES)}`);

/** Puts links to host files in the place of folders and files, and takes them away again, as fast as it can. */
const ATTACKER = `
  const fs = require("node:fs");
  const [root, host] = process.argv.slice(1);
  const attempt = (act) => { try { act(); } catch {} };
  const pause = () => { const end = performance.now() + Math.random() * 0.3; while (performance.now() < end); };
  const swapFolder = (name, target) => {
    attempt(() => fs.renameSync(root + name, root + "/aside"));
    attempt(() => fs.symlinkSync(target, root + name));
    pause();
    attempt(() => fs.unlinkSync(root + name));
    attempt(() => fs.renameSync(root + "/aside", root + name));
    pause();
  };
  const swapFile = (name, target) => {
    attempt(() => fs.symlinkSync(target, root + "/link"));
    attempt(() => fs.renameSync(root + "/link", root + name));
    pause();
    attempt(() => fs.writeFileSync(root + "/plain", "harmless " + Math.random()));
    attempt(() => fs.renameSync(root + "/plain", root + name));
  };
  process.stdout.write("ready");
  for (let round = 0; ; round++) {
    swapFolder("/d", host);
    swapFolder("/p/q", host + "/twin");
    swapFile("/a.txt", host + "/answers.txt");
    swapFile("/page.html", host + "/page.html");
    swapFile("/.gitignore", host + "/answers.txt");
    if (round % 7 === 0) attempt(() => fs.renameSync(root + "/pipe", root + "/a.txt"));
    if (round % 7 === 3) attempt(() => fs.renameSync(root + "/a.txt", root + "/pipe"));
  }
`;

test(
  "a race with links does not leak one byte of the host in 50,000 scans",
  { timeout: 600_000 },
  async () => {
    const [root, host] = [temporaryFolder(), temporaryFolder()];
    const secret = "SECRET-".padEnd(SECRET_BYTES, "x");
    write(host, {
      "answers.txt": secret,
      "page.html": secret,
      "only-on-the-host": secret,
      "only-on-the-host.pem": secret,
      "only-on-the-host.link": { target: "SECRET-place" },
    });
    write(root, { "a.txt": "ok", "page.html": "ok", ".gitignore": "nothing\n", "e/f/g.txt": "quiet" });
    // Many files of the same names: while one of them is read, the folder of the next is swapped.
    for (let index = 0; index < 10; index++) {
      write(root, { [`d/${index}.txt`]: "ok", [`p/q/${index}.txt`]: "ok" });
      write(host, { [`${index}.txt`]: secret, [`twin/${index}.txt`]: secret });
    }
    write(root, { "p/q/key.pem": "ok", "p/q/place": { target: "ok" } });
    write(host, { "twin/key.pem": secret, "twin/place": { target: "SECRET-place" } });
    assert.equal(spawnSync("mkfifo", [`${root}/pipe`]).status, 0);
    const hash = spawnSync("sha256sum", { input: secret, encoding: "utf8" }).stdout.slice(0, 64);
    const traces = [
      "SECRET",
      Buffer.from("SECRET-").toString("base64").slice(0, 8),
      hash,
      "only-on-the-host",
      ...SIZES,
    ];

    const attacker = spawn(process.execPath, ["-e", ATTACKER, root, host], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void attacker.kill("SIGKILL"));
    await once(attacker.stdout, "data");

    const open = readdirSync("/proc/self/fd").length;
    const tracker = new Tracker(root);
    tracker.start();
    let byPath = 0;
    let changes = 0;
    for (let scans = 0; scans < SCANS; scans++) {
      const { report, settle } = scans % 100 === 99 ? tracker.setup() : tracker.flush();
      settle(true);
      const text = JSON.stringify(report);
      for (const trace of traces) assert.ok(!text.includes(trace), `${trace} in scan ${scans}: ${text}`);
      changes += "diff" in report ? report.diff.files_changed : report.files_changed;
      byPath += leaksByPath(`${root}/d/1.txt`, secret);
      if (scans % 200 === 0) await turn();
    }
    assert.equal(readdirSync("/proc/self/fd").length, open, "no descriptor may be left open");
    assert.equal(attacker.exitCode, null, "the attacker must have lasted");
    assert.ok(changes > SCANS / 100, `the attacker must have changed something: ${changes}`);
    assert.ok(byPath > 0, "whoever reads by paths must have been led astray");
  },
);

function leaksByPath(path: string, secret: string): number {
  try {
    return readFileSync(path, "utf8") === secret ? 1 : 0;
  } catch {
    return 0;
  }
}
