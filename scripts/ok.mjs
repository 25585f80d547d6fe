// pnpm ok: the one gate, the same for a person and in CI. --static leaves the tests out (pnpm check).
import { spawnSync } from "node:child_process";
import { environment, root, setUp } from "./setup.mjs";

/** Name, command and words of each check, cheap ones first. */
const CHECKS = [
  ["format", "prettier", ["--check", "--log-level=warn", "."]],
  ["types", "tsc", ["-p", "tsconfig.json", "--noEmit"]],
  ["lint", "eslint", ["."]],
  [
    "import cycles",
    "oxlint",
    ["--quiet", "--import-plugin", "-A", "all", "-D", "import/no-cycle", "packages", "apps"],
  ],
  ["manifests", "node", ["scripts/publint.mjs"]],
];
const TESTS = ["tests", "node", ["scripts/test.mjs"]];

setUp("test");
const failed = [];
for (const [name, command, words] of process.argv.includes("--static") ? CHECKS : [...CHECKS, TESTS]) {
  const started = performance.now();
  const { status } = spawnSync(command, words, { cwd: root, env: environment(), stdio: "inherit" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`${status === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)\n`);
  if (status !== 0) failed.push(name);
}
process.exit(failed.length === 0 ? 0 : 1);
