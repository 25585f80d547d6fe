import type { Protocol } from "@envport/wire";
import { FileTrackingClient } from "./file_tracking_client.ts";

/**
 * The protocol of the family `filetracking`, for `client.open`.
 *
 * @example
 * ```ts
 * import { filetracking } from "@envport/filetracking";
 * import assert from "node:assert/strict";
 *
 * assert.equal(filetracking.id, "filetracking/1");
 * ```
 */
export const filetracking: Protocol<FileTrackingClient> = {
  family: "filetracking",
  id: "filetracking/1",
  connect: (capability, options) => FileTrackingClient.connect(capability, { signal: options?.signal }),
};
