import type { Change } from "./_changes.ts";
import { toText } from "./_names.ts";
import type { ByteString } from "./_names.ts";
import type { FileNode } from "./_nodes.ts";
import { isExhausted } from "./_open_folder.ts";
import { readContent } from "./_read_content.ts";
import { FolderCursor } from "./_read_pending.ts";
import { holdsSecret } from "./_secret_content.ts";
import type { CapturedFile } from "./file_diff.ts";
import type { FileTrackingLimits } from "./file_tracking_limits.ts";

const OPEN_XML = "application/vnd.openxmlformats-officedocument";

/** What is captured, by the end of its name, and its media type. */
const CONTENT_TYPES = new Map([
  [".docx", `${OPEN_XML}.wordprocessingml.document`],
  [".htm", "text/html"],
  [".html", "text/html"],
  [".jpeg", "image/jpeg"],
  [".jpg", "image/jpeg"],
  [".pdf", "application/pdf"],
  [".png", "image/png"],
  [".pptx", `${OPEN_XML}.presentationml.presentation`],
  [".webp", "image/webp"],
  [".xlsm", "application/vnd.ms-excel.sheet.macroEnabled.12"],
  [".xlsx", `${OPEN_XML}.spreadsheetml.sheet`],
]);

/** What a capture goes by. */
export interface CaptureOptions {
  readonly root: ByteString;
  readonly limits: FileTrackingLimits;
  /** What was captured of a path before, or can never be. */
  readonly captured: ReadonlyMap<ByteString, string>;
}

/** A capture without its head. */
export interface CaptureParts {
  files: CapturedFile[];
  eligible: number;
  skipped: number;
  truncated: boolean;
  /** What need not be captured again, as it is. */
  readonly done: Map<ByteString, string>;
}

/**
 * Takes the content of changed documents and pictures, as the scan that found them saw it; small ones first.
 *
 * @param changes What has changed since the agent's baseline.
 */
export function makeCapture(changes: readonly Change[], options: CaptureOptions): CaptureParts {
  const parts: CaptureParts = { files: [], eligible: 0, skipped: 0, truncated: false, done: new Map() };
  const cursor = new FolderCursor(options.root);
  let room = options.limits.captureBytes;
  try {
    for (const { path, status, node, type } of candidates(changes, options.captured)) {
      parts.eligible++;
      const fit = fits(node, room, parts, options.limits);
      const content = fit ? contentOf(path, node, cursor, options.limits) : undefined;
      if (!content || holdsSecret(content)) {
        skip(parts, path, node, options.limits, content !== undefined);
        continue;
      }
      room -= content.length;
      parts.done.set(path, fingerprint(node));
      parts.files.push(capturedFile(path, status, content, node.hash!, type));
    }
  } finally {
    cursor.close();
  }
  parts.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return parts;
}

interface Candidate {
  readonly path: ByteString;
  readonly status: "added" | "modified";
  readonly node: FileNode;
  readonly type: string;
}

function candidates(changes: readonly Change[], captured: ReadonlyMap<ByteString, string>): Candidate[] {
  const found: Candidate[] = [];
  for (const { path, before, after: node } of changes) {
    const type = CONTENT_TYPES.get(/\.[^./]*$/.exec(path)?.[0].toLowerCase() ?? "");
    if (!type || !node || node.isLink || node.state === "secret" || node.state === "unreadable") continue;
    if (before && before.hash !== undefined && before.hash === node.hash) continue;
    if (captured.get(path) === fingerprint(node)) continue;
    found.push({ path, status: before ? "modified" : "added", node, type });
  }
  return found.sort((a, b) => a.node.size - b.node.size || (a.path < b.path ? -1 : 1));
}

/** What tells two states of a file apart, also where no content was read. */
function fingerprint(node: FileNode): string {
  return node.hash ?? `${String(node.size)}:${String(node.mtimeMs)}:${String(node.ctimeMs)}`;
}

function fits(node: FileNode, room: number, parts: CaptureParts, limits: FileTrackingLimits): boolean {
  return (
    parts.files.length < limits.captureFiles && node.size <= limits.captureFileBytes && node.size <= room
  );
}

/** A file that can never be captured as it is is said once. */
function skip(
  parts: CaptureParts,
  path: ByteString,
  node: FileNode,
  limits: FileTrackingLimits,
  secret: boolean,
): void {
  parts.skipped++;
  if (!secret) parts.truncated = true;
  if (secret || node.size > limits.captureFileBytes) parts.done.set(path, fingerprint(node));
}

/** The content that the scan hashed; undefined if it is unread, or another one by now. */
function contentOf(
  path: ByteString,
  node: FileNode,
  cursor: FolderCursor,
  limits: FileTrackingLimits,
): Buffer | undefined {
  if (node.hash === undefined || node.content) return node.content;
  const slash = path.lastIndexOf("/");
  try {
    const prefix = cursor.at(path.slice(0, Math.max(0, slash))).open();
    const content = readContent(
      prefix + path.slice(slash + 1),
      limits.captureFileBytes,
      limits.captureFileBytes,
    );
    return "refused" in content || content.hash !== node.hash ? undefined : content.bytes;
  } catch (error) {
    if (isExhausted(error)) throw error;
    return undefined;
  }
}

function capturedFile(
  path: ByteString,
  status: "added" | "modified",
  content: Buffer,
  hash: string,
  type: string,
): CapturedFile {
  return {
    path: toText(path),
    status,
    size: content.length,
    content_hash: hash,
    content_type: type,
    file: { type: "file", data: content.toString("base64"), media_type: type },
  };
}
