import type { Protocol } from "@envport/wire";
import { RfbClient } from "./rfb_client.ts";

/**
 * The protocol of the family `rfb`, for `client.open`.
 *
 * @example
 * ```ts
 * import { rfb } from "@envport/rfb";
 * import assert from "node:assert/strict";
 *
 * assert.equal(rfb.id, "rfb/3.8");
 * ```
 */
export const rfb: Protocol<RfbClient> = {
  family: "rfb",
  id: "rfb/3.8",
  connect: (capability, options) => RfbClient.connect(capability, { signal: options?.signal }),
};
