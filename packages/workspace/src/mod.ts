/**
 * A directory served as `ssh/2` from inside a sandbox: what a coding agent lives in.
 *
 * @module
 */
export { workspace } from "./create_workspace.ts";
export { Workspace } from "./workspace.ts";
export type { WorkspaceReadOptions, WorkspaceRunOptions, WorkspaceWriteOptions } from "./workspace.ts";
export type { WorkspaceOptions } from "./workspace_options.ts";
export type { FileStats } from "@envport/ssh";
