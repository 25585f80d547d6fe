import { defineConfig } from "vitest/config";
const resolve = { conditions: ["@envport/source", "module", "node", "default"] };
export default defineConfig({ resolve, ssr: { resolve }, test: { name: "conformance", root: "/work/main", include: ["packages/conformance/**/*_test.ts"], exclude: ["**/node_modules/**", "**/dist/**"], testTimeout: 20_000, hookTimeout: 30_000, maxWorkers: 2 } });
