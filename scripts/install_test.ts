import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { examplesIn, finishedPackages, root } from "./_examples.ts";

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  expect(status, `${command} ${args.join(" ")}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

test("the packages install from their tarballs into an empty project", { timeout: 180_000 }, () => {
  run(process.execPath, ["scripts/pack.mjs"], root);
  const folder = mkdtempSync(path.join(os.tmpdir(), "install-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(
    path.join(folder, "package.json"),
    JSON.stringify({ name: "user", private: true, type: "module" }),
  );
  const packs = readdirSync(path.join(root, ".packs")).map((file) => path.join(root, ".packs", file));
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packs], folder);

  const names = finishedPackages();
  const imports = names.map(
    (name) => `console.log(Object.keys(await import("@envport/${name}")).length > 0);`,
  );
  writeFileSync(path.join(folder, "all.js"), imports.join("\n"));
  expect(run(process.execPath, ["all.js"], folder)).toBe("true\n".repeat(names.length));

  // What is shipped is what runs, and the sources that its maps lead to; no test, no secret.
  for (const name of names) {
    const installed = path.join(folder, "node_modules/@envport", name);
    const files = readdirSync(installed, { recursive: true }) as string[];
    expect(files.filter((file) => /_test\.|_testing|\.pem$|\.tgz$|tsbuildinfo/.test(file))).toEqual([]);
    const manifest = JSON.parse(readFileSync(path.join(installed, "package.json"), "utf8"));
    expect(JSON.stringify(manifest)).not.toMatch(/workspace:|catalog:/);
  }

  writeFileSync(path.join(folder, "agent.ts"), examplesIn(path.join(root, "README.md")).at(-1)!.code);
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: [],
  };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["agent.ts"] }));
  run(
    "npm",
    ["install", "--no-audit", "--no-fund", "--ignore-scripts", "@types/node@20", "@types/ssh2"],
    folder,
  );
  run(path.join(root, "node_modules/.bin/tsc"), ["-p", folder], folder);
});
