import { IgnoreRules } from "./_ignore_rules.ts";
import type { ByteString } from "./_names.ts";
import { joinPath } from "./_names.ts";
import type { EntryKind } from "./_nodes.ts";
import { FileNode, FolderNode } from "./_nodes.ts";
import { RULES_FILE } from "./_scan.ts";

/** A tree under the ignore rules that it holds itself. */
export interface Rebased {
  readonly ignored: IgnoreRules;
  /** As the files are now. */
  readonly latest: FolderNode;
  /** As they were when the tree was scanned, so that what has happened since is still told. */
  readonly baseline: FolderNode;
}

/**
 * Takes over the `.gitignore` files of a tree: what they ignore leaves it, what they no longer ignore comes into it.
 *
 * @param tree A tree that was scanned just now.
 * @param old The rules that it was scanned by.
 * @param rescan Scans again, by other rules.
 */
export function rebase(
  tree: FolderNode,
  old: IgnoreRules,
  rescan: (ignored: IgnoreRules, known: FolderNode) => FolderNode,
): Rebased {
  const ignored = new IgnoreRules();
  learnFrom(tree, "", ignored);
  if (ignored.equals(old)) return { ignored: old, latest: tree, baseline: tree };
  const pruned = prune(tree, "", ignored);
  const latest = rescan(ignored, pruned);
  const baseline = graft(pruned, latest, "", old);
  ignored.forget();
  return { ignored, latest, baseline };
}

function learnFrom(folder: FolderNode, path: ByteString, ignored: IgnoreRules): void {
  const rules = folder.entries.get(RULES_FILE);
  if (rules instanceof FileNode && !rules.isLink && rules.content) ignored.learn(path, rules.content);
  for (const [name, node] of folder.entries) {
    const inner = joinPath(path, name);
    if (node instanceof FolderNode && !ignored.ignores(path, name, true)) learnFrom(node, inner, ignored);
  }
}

/** Without what is ignored; what need not be skipped any more is unknown, so that the scan lists it. */
function prune(folder: FolderNode, path: ByteString, ignored: IgnoreRules): FolderNode {
  const entries = new Map<ByteString, FileNode | FolderNode>();
  const skipped = new Map<ByteString, EntryKind>();
  for (const [name, kind] of folder.skipped) {
    if (kind === "special" || ignored.ignores(path, name, kind === "folder")) skipped.set(name, kind);
  }
  for (const [name, node] of folder.entries) {
    const isFolder = node instanceof FolderNode;
    if (ignored.ignores(path, name, isFolder)) {
      skipped.set(name, isFolder ? "folder" : node.isLink ? "link" : "file");
    } else entries.set(name, isFolder ? prune(node, joinPath(path, name), ignored) : node);
  }
  const pruned = new FolderNode(entries, skipped, folder.cut);
  return pruned.equals(folder) ? folder : pruned;
}

/** The scanned tree, together with what the old rules had hidden from it. */
function graft(scanned: FolderNode, fresh: FolderNode, path: ByteString, old: IgnoreRules): FolderNode {
  if (scanned === fresh) return fresh;
  const entries = new Map(scanned.entries);
  for (const [name, node] of fresh.entries) {
    const known = scanned.entries.get(name);
    if (known instanceof FolderNode && node instanceof FolderNode) {
      entries.set(name, graft(known, node, joinPath(path, name), old));
    } else if (!known && old.ignores(path, name, node instanceof FolderNode)) entries.set(name, node);
  }
  const grafted = new FolderNode(entries, fresh.skipped, fresh.cut);
  return grafted.equals(fresh) ? fresh : grafted;
}
