import { Workspace } from "./workspace.ts";
import type { WorkspaceOptions } from "./workspace_options.ts";

/**
 * A workspace as a service: `env.use(workspace("workspace"))` starts it, publishes its shell and what changes in it, and
 * stops it. File tracking follows `HUD_FILE_TRACKING_ENABLED`, and is on where that is not set.
 *
 * @param root The directory; a relative one is below the current folder. It is made at start.
 * @param options What it shows, where it listens, whom it lets in.
 *
 * @example
 * ```ts
 * import { workspace } from "@envport/workspace";
 * import assert from "node:assert/strict";
 *
 * const shell = workspace("workspace");
 * assert.equal(shell.guestPath, "/workspace");
 * ```
 */
export function workspace(root: string, options: WorkspaceOptions = {}): Workspace {
  const trackFiles = options.trackFiles ?? isTrackingEnabled(process.env["HUD_FILE_TRACKING_ENABLED"]);
  return new Workspace(root, { ...options, trackFiles });
}

/** As the Python package reads a setting: these words turn it off, in any case. */
function isTrackingEnabled(setting: string | undefined): boolean {
  return !["0", "false", "f", "no", "n", "off"].includes(setting?.trim().toLowerCase() ?? "");
}
