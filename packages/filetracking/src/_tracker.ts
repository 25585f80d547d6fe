import type { JsonObject } from "@envport/wire";
import type { Change } from "./_changes.ts";
import { changesBetween, nodeAt, withFiles } from "./_changes.ts";
import { IgnoreRules } from "./_ignore_rules.ts";
import { makeCapture } from "./_make_capture.ts";
import { makeDiff } from "./_make_diff.ts";
import { NameRules } from "./_name_rules.ts";
import type { NameRulesOptions } from "./_name_rules.ts";
import type { ByteString } from "./_names.ts";
import { fromFsPath, joinPath, toText } from "./_names.ts";
import { contentIn, FileNode, filesIn, FolderNode } from "./_nodes.ts";
import { OpenFolder } from "./_open_folder.ts";
import { readPending } from "./_read_pending.ts";
import { rebase } from "./_rebase.ts";
import type { PendingFile } from "./_scan.ts";
import { Scan } from "./_scan.ts";
import type { FileDiff, FileFlush, FileManifest, FileManifestEntry } from "./file_diff.ts";
import { FILE_TRACKING_LIMITS } from "./file_tracking_limits.ts";
import type { FileTrackingLimits } from "./file_tracking_limits.ts";

/** What a tracker goes by. */
export interface TrackerOptions extends NameRulesOptions {
  readonly gitignore?: boolean | undefined;
  readonly limits?: Partial<FileTrackingLimits> | undefined;
}

/** A report that may get lost on its way. */
export interface Delivery<T> {
  readonly report: T;
  /**
   * To be called once: whether it has arrived. If not, what it told is told again by the next one.
   */
  readonly settle: (arrived: boolean) => void;
}

/** The methods of the wire. */
export const TRACKER_METHODS = ["setup", "advance", "diff", "snapshot", "flush"] as const;

/** One of {@linkcode TRACKER_METHODS}. */
export type TrackerMethod = (typeof TRACKER_METHODS)[number];

/** A report that tells of nothing that could get lost. */
export function certain(report: JsonObject): Delivery<JsonObject> {
  return { report, settle: () => undefined };
}

/** When a scan began, and how long it took. */
interface ScanTime {
  readonly snapshot_timestamp: number;
  readonly scan_duration_ms: number;
}

/** What a manifest's entry takes besides its path, as JSON. */
const ENTRY_BYTES = 128;

/**
 * The state of file tracking, and what its five methods do. Everything is synchronous: it belongs into a thread of its
 * own.
 *
 * Three trees are kept; they share whatever is the same:
 *
 * ```text
 * baseline    as at the latest `setup` or `advance`: what captures are compared with
 * reported    as the receiver of the diffs knows it: what the next diff begins at
 * latest      as at the latest scan: what the next scan need not read again
 * ```
 */
export class Tracker {
  readonly #root: ByteString;
  readonly #names: NameRules;
  readonly #limits: FileTrackingLimits;
  readonly #gitignore: boolean;
  #ignored = new IgnoreRules();
  #latest = new FolderNode();
  #reported = new FolderNode();
  #baseline = new FolderNode();
  #captured = new Map<ByteString, string>();
  readonly #secretFiles = new Set<string>();
  /** Counts baselines: what got lost before one is not told after it. */
  #epoch = 0;
  /** Content that was read since the beginning, in bytes. */
  bytesRead = 0;

  constructor(root: string, options: TrackerOptions = {}) {
    this.#root = fromFsPath(root);
    this.#names = new NameRules(options);
    this.#gitignore = options.gitignore ?? true;
    this.#limits = { ...FILE_TRACKING_LIMITS, ...options.limits };
  }

  /**
   * Takes the tree as it is as the baseline, and its ignore rules with it.
   *
   * @throws {Error} If the root is no folder, or cannot be opened.
   */
  start(): void {
    const root = OpenFolder.root(this.#root);
    root.open();
    root.close();
    this.#ignored = new IgnoreRules();
    this.#latest = new FolderNode();
    this.#scan(this.#gitignore);
    this.#setBaseline(this.#latest);
  }

  /** Does what a method of the wire is for. */
  perform(method: TrackerMethod): Delivery<JsonObject> {
    switch (method) {
      case "advance":
        this.advance();
        return certain({ advanced: true });
      case "snapshot":
        return certain({ ...this.snapshot() });
      default: {
        const { report, settle } = this[method]();
        return { report: { ...report }, settle };
      }
    }
  }

  /** What has changed since the last report; the tree as it is becomes the agent's baseline, whole. */
  setup(): Delivery<FileDiff> {
    const { report, settle } = this.diff();
    this.#moveBaseline();
    // Not told again if it gets lost: what the agent does must not be mixed with it.
    return { report, settle: (arrived) => (arrived ? settle(true) : undefined) };
  }

  /** The tree as it is becomes the agent's baseline. */
  advance(): void {
    this.#scan(false);
    this.#moveBaseline();
  }

  /** What has changed since the last report. */
  diff(): Delivery<FileDiff> {
    return this.#report(this.#scan(false));
  }

  /** The diff, and what is worth keeping of all that has changed since the baseline, from one scan. */
  flush(): Delivery<FileFlush> {
    const time = this.#scan(false);
    const changes = changesBetween(this.#baseline, this.#latest).filter(({ after }) => after);
    const parts = makeCapture(changes, { root: this.#root, limits: this.#limits, captured: this.#captured });
    const { report: diff, settle } = this.#report(time);
    return {
      report: {
        diff,
        capture: {
          ...time,
          files_scanned: this.#latest.files,
          files_changed: changes.length,
          files_eligible: parts.eligible,
          files_captured: parts.files.length,
          files_skipped: parts.skipped,
          files: parts.files,
          ...(parts.truncated && { truncated: true }),
        },
      },
      settle: (arrived) => {
        if (arrived) for (const [path, hash] of parts.done) this.#captured.set(path, hash);
        settle(arrived);
      },
    };
  }

  /** The files of the last report, without a scan. */
  snapshot(): FileManifest {
    const files: FileManifestEntry[] = [];
    let truncated = this.#reported.incomplete;
    let bytes = 0;
    for (const [path, node] of [...filesIn(this.#reported)].sort(byPath)) {
      bytes += node.hash === undefined ? 0 : 6 * path.length + ENTRY_BYTES;
      if (node.hash !== undefined && bytes <= this.#limits.replyBytes) {
        files.push({ path: toText(path), size: node.size, content_hash: node.hash });
      } else if (node.state !== "secret") truncated = true;
    }
    return { files, files_scanned: files.length, ...(truncated && { truncated }) };
  }

  /** Brings `latest` up to date. */
  #scan(learn: boolean): ScanTime {
    const snapshot_timestamp = Date.now() / 1000;
    const began = performance.now();
    const scan = this.#newScan(this.#ignored, learn);
    const latest = scan.run(this.#latest);
    this.#read(scan, latest);
    this.#latest = latest;
    this.#ignored.forget();
    return { snapshot_timestamp, scan_duration_ms: Math.round((performance.now() - began) * 100) / 100 };
  }

  #newScan(ignored: IgnoreRules, learn: boolean): Scan {
    const rules = {
      root: this.#root,
      names: this.#names,
      limits: this.#limits,
      secretFiles: this.#secretFiles,
    };
    return new Scan({ ...rules, ignored, learn });
  }

  /** What waits to be reported is read before what only was not read yet. */
  #read({ changed, doubtful, unread }: Scan, latest: FolderNode): void {
    if (changed.length + doubtful.length + unread.length === 0) return;
    const isReported = ({ path, name, node }: PendingFile): boolean =>
      nodeAt(this.#reported, joinPath(path, name)) === node;
    const pending = unread
      .filter((file) => !isReported(file))
      .map((file) => ({ ...file, stage: "pending" as const }));
    const groups = [[...changed, ...pending], doubtful, unread.filter(isReported)];
    const held = this.#held(latest);
    this.bytesRead += readPending(groups, { root: this.#root, limits: this.#limits, held });
    for (const file of doubtful) keepIfSame(file);
  }

  /** Content that is kept for diffs to come, in bytes. */
  #held(latest: FolderNode): number {
    let held = contentIn(latest);
    for (const { before } of changesBetween(this.#reported, latest)) held += before?.content?.length ?? 0;
    return held;
  }

  #report(time: ScanTime): Delivery<FileDiff> {
    const changes = changesBetween(this.#reported, this.#latest);
    const { patches, reported, left } = makeDiff(changes, this.#limits);
    const epoch = this.#epoch;
    this.#reported = left.length === 0 ? this.#latest : withFiles(this.#latest, left.map(oldSide));
    const truncated = left.length > 0 || this.#latest.incomplete;
    return {
      report: {
        ...time,
        files_scanned: this.#latest.files,
        files_changed: changes.length,
        patches,
        ...(truncated && { truncated }),
      },
      settle: (arrived) => {
        if (arrived) this.#drop(reported);
        else if (epoch === this.#epoch) this.#reported = withFiles(this.#reported, reported.map(oldSide));
      },
    };
  }

  /** Content that no diff begins at any more is not kept. */
  #drop(reported: readonly Change[]): void {
    for (const { path, before } of reported) {
      if (before && nodeAt(this.#reported, path) !== before) before.content = undefined;
    }
  }

  #moveBaseline(): void {
    if (!this.#gitignore) {
      this.#setBaseline(this.#latest);
      return;
    }
    const rebased = rebase(this.#latest, this.#ignored, (ignored, known) => {
      const scan = this.#newScan(ignored, true);
      const tree = scan.run(known);
      this.#read(scan, tree);
      return tree;
    });
    this.#ignored = rebased.ignored;
    this.#latest = rebased.latest;
    this.#setBaseline(rebased.baseline);
  }

  #setBaseline(baseline: FolderNode): void {
    this.#reported = this.#baseline = baseline;
    this.#captured = new Map();
    this.#epoch++;
  }
}

/** A file that turns out to be unchanged stays the one that the other trees have; so does one that was not read. */
function keepIfSame({ folder, name, node, before }: PendingFile): void {
  if (folder.entries.get(name) !== node || !before) return;
  const same = before.hash === node.hash && before.isAt(node);
  if (!same && node.state !== "unread") return;
  if (same) before.racy = node.racy;
  folder.entries.set(name, before);
}

function oldSide({ path, before }: Change): readonly [ByteString, FileNode | undefined] {
  return [path, before];
}

function byPath([a]: [ByteString, FileNode], [b]: [ByteString, FileNode]): number {
  return a < b ? -1 : 1;
}
