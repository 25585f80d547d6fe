// npm test: sets up and runs every test; further words go to vitest (npm test -- --project wire).
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { environment, root, setUp } from "./setup.mjs";

setUp("test");
const report = path.join(root, ".turbo/vitest.json");
rmSync(report, { force: true });
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
const words = ["run", "--config", "vitest.workspace.ts", ...reporters, ...process.argv.slice(2)];
const { status } = spawnSync("vitest", words, { cwd: root, env: environment(), stdio: "inherit" });

const { passed, failed } = existsSync(report)
  ? count(JSON.parse(readFileSync(report, "utf8")))
  : { passed: 0, failed: 0 };
// An error outside of a test, or no test at all, is a failure too.
const failures = failed === 0 && (status !== 0 || passed === 0) ? 1 : failed;
process.stdout.write(`${String(passed)} passed, ${String(failures)} failed\n`);
process.exit(failures === 0 ? 0 : 1);

function count(result) {
  return { passed: result.numPassedTests, failed: result.numFailedTests + result.numPendingTests };
}
