/**
 * The `filetracking/1` capability: a tracker that tells what has changed in a directory, a server and a client for it, and
 * the factory that describes it.
 *
 * @module
 */
export { fileTrackingServer } from "./create_file_tracking_server.ts";
export type {
  CapturedFile,
  FileCapture,
  FileDiff,
  FileFlush,
  FileManifest,
  FileManifestEntry,
  FileModes,
  FilePatch,
  FileStatus,
  ScanHead,
} from "./file_diff.ts";
export { FileTracker } from "./file_tracker.ts";
export type { FileTrackerOptions } from "./file_tracker.ts";
export { FILE_TRACKING_PORT, fileTrackingCapability } from "./file_tracking_capability.ts";
export type { FileTrackingCapabilityOptions } from "./file_tracking_capability.ts";
export { FileTrackingClient } from "./file_tracking_client.ts";
export { FILE_TRACKING_LIMITS } from "./file_tracking_limits.ts";
export type { FileTrackingLimits } from "./file_tracking_limits.ts";
export { FileTrackingServer } from "./file_tracking_server.ts";
export type { FileTrackingServerOptions } from "./file_tracking_server.ts";
export { filetracking } from "./filetracking.ts";
export { toPatch } from "./to_patch.ts";
