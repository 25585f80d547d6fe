import { readdirSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { UNFINISHED } from "./scripts/unfinished.mjs";

/** Every folder of packages/ and apps/, and the repository's own checks, is a project of its own. */
const folders = ["packages", "apps"].flatMap((parent) =>
  readdirSync(new URL(parent, import.meta.url))
    .filter((name) => !UNFINISHED.includes(name))
    .map((name) => `${parent}/${name}`),
);

/** Siblings are read from their sources, so that tests never run against a stale build. */
const resolve = { conditions: ["@envport/source", "module", "node", "default"] };

/** The repository's own tests run examples, which stand in no package. */
const alias = [
  { find: /^@envport\/([\w-]+)$/, replacement: `${import.meta.dirname}/packages/$1/src/mod.ts` },
];

// eslint-disable-next-line no-restricted-syntax -- vitest asks for it
export default defineConfig({
  resolve,
  ssr: { resolve },
  test: {
    projects: [...folders, "scripts"].map((folder) => ({
      extends: true as const,
      ...(folder === "scripts" ? { resolve: { ...resolve, alias } } : {}),
      test: {
        name: folder.replace(/^.*\//, ""),
        include: [`${folder}/**/*_test.ts`],
        exclude: ["**/node_modules/**", "**/dist/**", "**/*_interop_test.ts"],
        testTimeout: 20_000,
        hookTimeout: 30_000,
      },
    })),
    maxWorkers: 2,
  },
});
