/**
 * The bench could not run: nothing listens, the command does not start, the fixture is not there. It says nothing about
 * conformance.
 *
 * @example
 * ```ts
 * import { BenchError, runServerBench } from "@envport/conformance";
 * import assert from "node:assert/strict";
 *
 * await assert.rejects(runServerBench({ url: "tcp://127.0.0.1:1" }), BenchError);
 * ```
 */
export class BenchError extends Error {
  override readonly name = "BenchError";
}
