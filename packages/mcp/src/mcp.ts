import type { Protocol } from "@envport/wire";
import { McpClient } from "./mcp_client.ts";

/**
 * The protocol of the family `mcp`, for `client.open`.
 *
 * @example
 * ```ts
 * import { mcp } from "@envport/mcp";
 * import assert from "node:assert/strict";
 *
 * assert.equal(mcp.id, "mcp/2025-11-25");
 * ```
 */
export const mcp: Protocol<McpClient> = {
  family: "mcp",
  id: "mcp/2025-11-25",
  connect: (capability, options) => McpClient.connect(capability, options),
};
