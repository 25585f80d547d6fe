// turbo with our pnpm on its PATH and without telemetry: node scripts/turbo.mjs run build
import { spawnSync } from "node:child_process";
import { environment, root } from "./setup.mjs";

const { status } = spawnSync("turbo", process.argv.slice(2), {
  cwd: root,
  env: environment(),
  stdio: "inherit",
});
process.exit(status ?? 1);
