import { defineConfig } from "vitest/config";

/** Siblings are read from their sources. */
const resolve = { conditions: ["@envport/source", "module", "node", "default"] };

/** The tests against the Python peer: `npm run test:interop` makes it and runs them. */
// eslint-disable-next-line no-restricted-syntax -- vitest asks for it
export default defineConfig({
  resolve,
  ssr: { resolve },
  test: {
    include: ["interop/**/*_test.ts", "packages/*/src/**/*_interop_test.ts"],
    testTimeout: 90_000,
    hookTimeout: 90_000,
    maxWorkers: 2,
  },
});
