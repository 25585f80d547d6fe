/** What a tracker reads, keeps and reports at most. */
export interface FileTrackingLimits {
  /** A larger file is known by size and times only, in bytes. */
  readonly fileBytes: number;
  /** A file with a larger side is not diffed, in bytes. */
  readonly diffFileBytes: number;
  /** Content read in one scan, in bytes. */
  readonly scanBytes: number;
  /** The patches of one diff, in bytes. */
  readonly diffBytes: number;
  /** The patches of one diff as JSON, in bytes: what keeps a reply below `frameBytes`. */
  readonly replyBytes: number;
  /** Files in one capture. */
  readonly captureFiles: number;
  /** One file in a capture, in bytes. */
  readonly captureFileBytes: number;
  /** All files in one capture, in bytes. */
  readonly captureBytes: number;
  /** The longest reply, in bytes. */
  readonly frameBytes: number;
  /** Content kept to diff against, in bytes. What is over is known by its hash only. */
  readonly heldBytes: number;
  /** Files tracked. */
  readonly files: number;
  /** Folders within folders. */
  readonly depth: number;
}

const MEBIBYTE = 1024 * 1024;

/**
 * The limits of `filetracking/1`. What one of them leaves out is said (`truncated`, or the sentence that stands in for a
 * patch).
 */
export const FILE_TRACKING_LIMITS: FileTrackingLimits = {
  fileBytes: 10 * MEBIBYTE,
  diffFileBytes: MEBIBYTE,
  scanBytes: 50 * MEBIBYTE,
  diffBytes: 50 * MEBIBYTE,
  replyBytes: 120 * MEBIBYTE,
  captureFiles: 20,
  captureFileBytes: 5 * MEBIBYTE,
  captureBytes: 15 * MEBIBYTE,
  frameBytes: 160 * MEBIBYTE,
  heldBytes: 256 * MEBIBYTE,
  files: 1_000_000,
  depth: 256,
};
