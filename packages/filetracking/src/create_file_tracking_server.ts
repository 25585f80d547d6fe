import { FileTrackingServer } from "./file_tracking_server.ts";
import type { FileTrackingServerOptions } from "./file_tracking_server.ts";

/**
 * A file-tracking server, for `env.use`.
 *
 * @param root The directory; a relative one is below the current folder.
 * @param options What to leave out, where to listen.
 *
 * @example
 * ```ts no-run
 * import { fileTrackingServer } from "@envport/filetracking";
 * import { Environment } from "@envport/server";
 *
 * const env = new Environment({ name: "coder" });
 * env.use(fileTrackingServer("workspace"));
 * ```
 */
export function fileTrackingServer(root: string, options?: FileTrackingServerOptions): FileTrackingServer {
  return new FileTrackingServer(root, options);
}
