// npm start: serves the reference environment, drives every task of it and prints the scores.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { root, setUp } from "./setup.mjs";

setUp("start");
const program = path.join(root, "apps/reference-env/dist/main.js");
const { status } = spawnSync(process.execPath, [program, ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
process.exit(status ?? 1);
