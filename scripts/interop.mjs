// npm run test:interop: everything against the published Python peer, which it installs; further words go to vitest.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { environment, root, setUp } from "./setup.mjs";

/** The peer needs this or newer. */
const OLDEST_PYTHON = [3, 11];

setUp("test");
const python = findPython();
if (python) {
  const interpreter = installPeer(python);
  const report = path.join(root, ".turbo/interop.json");
  rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status } = vitest("run", reporters, { ENVPORT_PEER_PYTHON: interpreter });
  const {
    numPassedTests: passed = 0,
    numFailedTests = 0,
    numPendingTests = 0,
  } = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : {};
  const failed = numFailedTests + numPendingTests;
  const failures = failed === 0 && (status !== 0 || passed === 0) ? 1 : failed;
  process.stdout.write(`${String(passed)} passed, ${String(failures)} failed\n`);
  process.exit(failures === 0 ? 0 : 1);
} else {
  const { stdout } = vitest("list", [], {}, "pipe");
  const names = stdout.split("\n").filter((line) => line.includes(" > "));
  for (const name of names) process.stdout.write(`not run  ${name}\n`);
  process.stdout.write(`No Python ${OLDEST_PYTHON.join(".")} or newer with venv is here: nothing was run\n`);
  process.stdout.write(`0 passed, 0 failed, ${String(names.length)} skipped\n`);
}

/** The newest Python of this machine that can run the peer, and make virtual environments. */
function findPython() {
  const [major, oldest] = OLDEST_PYTHON;
  const check = `import sys, venv, ensurepip; sys.exit(sys.version_info < (${String(major)}, ${String(oldest)}))`;
  return ["python3", "python3.13", "python3.12", "python3.11"].find(
    (name) => spawnSync(name, ["-c", check], { stdio: "ignore" }).status === 0,
  );
}

/** A virtual environment with what `interop/requirements.txt` names; made anew when that has changed. */
function installPeer(command) {
  const folder = path.join(root, ".tools/peer");
  const interpreter = path.join(folder, "bin/python");
  const wanted = readFileSync(path.join(root, "interop/requirements.txt"), "utf8");
  const stamp = path.join(folder, "installed.txt");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return interpreter;
  process.stderr.write("interop: Installing the Python peer\n");
  rmSync(folder, { recursive: true, force: true });
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  for (const [program, ...args] of [
    [command, "-m", "venv", folder],
    [interpreter, ...pip, "-r", path.join(root, "interop/requirements.txt")],
  ]) {
    const { status } = spawnSync(program, args, { stdio: ["ignore", "inherit", "inherit"] });
    if (status !== 0) process.exit(1);
  }
  mkdirSync(path.join(folder, "home"));
  writeFileSync(stamp, wanted);
  return interpreter;
}

function vitest(verb, words, variables, stdio = "inherit") {
  const args = [verb, "--config", "vitest.interop.ts", ...words, ...process.argv.slice(2)];
  return spawnSync("vitest", args, {
    cwd: root,
    env: { ...environment(), ...variables },
    stdio: ["ignore", stdio, "inherit"],
    encoding: "utf8",
  });
}
