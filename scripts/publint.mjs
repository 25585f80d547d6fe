// Checks the manifest of every publishable package as npm would pack it.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { root } from "./setup.mjs";
import { UNFINISHED } from "./unfinished.mjs";

let failed = false;
for (const name of readdirSync(path.join(root, "packages")).filter((name) => !UNFINISHED.includes(name))) {
  const pkgDir = path.join(root, "packages", name);
  const pkg = JSON.parse(readFileSync(path.join(pkgDir, "package.json"), "utf8"));
  const { messages } = await publint({ pkgDir, strict: true });
  for (const message of messages) {
    failed = true;
    process.stdout.write(`${pkg.name}: ${formatMessage(message, pkg)}\n`);
  }
}
process.exit(failed ? 1 : 0);
