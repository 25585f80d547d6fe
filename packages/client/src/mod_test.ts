import assert from "node:assert/strict";
import { expectTypeOf, test } from "vitest";
import * as mod from "./mod.ts";

test("the package exports what its README shows, and nothing else", () => {
  assert.deepEqual(Object.keys(mod).toSorted(), ["Client", "Task", "connect", "forwardControlPort"]);
  expectTypeOf<mod.Manifest["sessionId"]>().toEqualTypeOf<string>();
  expectTypeOf<mod.ConnectOptions["signal"]>().toEqualTypeOf<AbortSignal | undefined>();
});
