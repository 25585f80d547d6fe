import { normalizeUrl } from "@envport/wire";
import type { Capability } from "@envport/wire";

/** What {@linkcode fileTrackingCapability} describes. */
export interface FileTrackingCapabilityOptions {
  /**
   * Unique within the environment.
   *
   * @default {"filetracking"}
   */
  name?: string | undefined;
  /** Where the server listens: `host`, `host:port`, `[::1]:port` or a whole `tcp://` URL. The default port is 9095. */
  url: string;
  /** The tracked directory, as clients should see it called. */
  root: string;
}

/** Where nothing else is said. Servers on a private socket are published under it. */
export const FILE_TRACKING_PORT = 9095;

/**
 * Describes a file-tracking server as a capability of the family `filetracking/1`, with the parameters under their wire
 * names. `setup_diff` tells clients that the method `setup` is there.
 *
 * @param options The server's address, and what it tracks.
 * @throws {TypeError} If the URL cannot be read.
 *
 * @example
 * ```ts
 * import { fileTrackingCapability } from "@envport/filetracking";
 * import assert from "node:assert/strict";
 *
 * const capability = fileTrackingCapability({ url: "127.0.0.1:4000", root: "/workspace" });
 * assert.equal(capability.url, "tcp://127.0.0.1:4000");
 * assert.deepEqual(capability.params, { root: "/workspace", setup_diff: true });
 * ```
 */
export function fileTrackingCapability(options: FileTrackingCapabilityOptions): Capability {
  const { name = "filetracking", url, root } = options;
  return {
    name,
    protocol: "filetracking/1",
    url: normalizeUrl(url, { scheme: "tcp", port: FILE_TRACKING_PORT }),
    params: { root, setup_diff: true },
  };
}
