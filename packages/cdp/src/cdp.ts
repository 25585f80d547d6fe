import type { Protocol } from "@envport/wire";
import { CdpClient } from "./cdp_client.ts";

/**
 * The protocol of the family `cdp`, for `client.open`.
 *
 * @example
 * ```ts
 * import { cdp } from "@envport/cdp";
 * import assert from "node:assert/strict";
 *
 * assert.equal(cdp.id, "cdp/1.3");
 * ```
 */
export const cdp: Protocol<CdpClient> = {
  family: "cdp",
  id: "cdp/1.3",
  connect: (capability, options) => CdpClient.connect(capability, options),
};
