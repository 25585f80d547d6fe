// npm run bench -- <name> [--json] [--quick]: measures one road beside its references, in one interleaved run.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { environment, root } from "./setup.mjs";

const packages = path.join(root, "packages");
const benches = new Map(
  readdirSync(packages, { recursive: true })
    .filter((file) => /^[^/]+\/bench\/[a-z][\w-]*\.ts$/.test(file))
    .map((file) => [path.basename(file, ".ts"), path.join(packages, file)]),
);
const [name, ...words] = process.argv.slice(2);
const file = benches.get(name);
if (!file) {
  process.stderr.write(`Usage: npm run bench -- <${[...benches.keys()].join(" | ")}> [--json] [--quick]\n`);
  process.exit(2);
}
const node = ["--import", "tsx", "--conditions=@envport/source", file, ...words];
process.exit(
  spawnSync(process.execPath, node, { cwd: root, env: environment(), stdio: "inherit" }).status ?? 1,
);
