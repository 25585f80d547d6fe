import assert from "node:assert/strict";
import { expectTypeOf, test } from "vitest";
import * as mod from "./mod.ts";

test("the package exports what its README shows, and nothing else", () => {
  assert.deepEqual(Object.keys(mod).toSorted(), [
    "McpClient",
    "McpService",
    "mcp",
    "mcpCapability",
    "mcpServer",
  ]);
  expectTypeOf<mod.McpTransport>().toEqualTypeOf<"streamable-http" | "sse" | "websocket">();
  expectTypeOf<mod.CallToolOptions["signal"]>().toEqualTypeOf<AbortSignal | undefined>();
});
