import assert from "node:assert/strict";
import { test } from "vitest";
import { EnvportError } from "./envport_error.ts";

test("EnvportError carries its code and the error behind it", () => {
  const cause = new Error("ECONNRESET");
  const error = new EnvportError("connection-lost", "Cannot go on as the connection was lost", { cause });
  assert.ok(error instanceof Error);
  assert.deepEqual([error.name, error.code, error.cause], ["EnvportError", "connection-lost", cause]);
  assert.equal("cause" in new EnvportError("closed", "x"), false);
});
