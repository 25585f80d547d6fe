// npm run pack: a tarball of every package in .packs/, as npm would publish it; they install together into a project.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { environment, root } from "./setup.mjs";
import { UNFINISHED } from "./unfinished.mjs";

const target = path.join(root, ".packs");
rmSync(target, { recursive: true, force: true });
mkdirSync(target);
for (const name of readdirSync(path.join(root, "packages")).filter((name) => !UNFINISHED.includes(name))) {
  const cwd = path.join(root, "packages", name);
  const result = spawnSync("pnpm", ["pack", "--pack-destination", target], {
    cwd,
    env: environment(),
    encoding: "utf8",
  });
  if (result.status !== 0) {
    process.stderr.write(`${result.stdout}${result.stderr}`);
    process.exit(1);
  }
}
process.stdout.write(
  `${readdirSync(target)
    .map((file) => path.join(".packs", file))
    .join("\n")}\n`,
);
