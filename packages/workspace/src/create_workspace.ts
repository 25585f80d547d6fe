import { Workspace } from "./workspace.ts";
import type { WorkspaceOptions } from "./workspace_options.ts";

/**
 * A workspace as a service: `env.use(workspace("workspace"))` starts it, publishes its shell, and stops it.
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
  return new Workspace(root, options);
}
