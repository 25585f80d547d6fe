import type { ByteString } from "./_names.ts";
import { joinPath } from "./_names.ts";
import { FileNode, FolderNode } from "./_nodes.ts";

/** A file that two trees tell apart; one side may be missing. */
export interface Change {
  readonly path: ByteString;
  readonly before: FileNode | undefined;
  readonly after: FileNode | undefined;
}

type Entry = FileNode | FolderNode | undefined;

/**
 * What differs between two trees. Folders that both share are not entered.
 *
 * @param before The older tree.
 * @param after The newer one.
 */
export function changesBetween(before: FolderNode, after: FolderNode): Change[] {
  const changes: Change[] = [];
  collect("", before, after, changes);
  return changes;
}

function collect(path: ByteString, before: Entry, after: Entry, changes: Change[]): void {
  if (before === after) return;
  const old = before instanceof FileNode ? before : undefined;
  const now = after instanceof FileNode ? after : undefined;
  if (old && now ? old.differsFrom(now) : old !== now) changes.push({ path, before: old, after: now });
  const within = before instanceof FolderNode ? before.entries : undefined;
  const withinNow = after instanceof FolderNode ? after.entries : undefined;
  for (const [name, node] of within ?? []) collect(joinPath(path, name), node, withinNow?.get(name), changes);
  for (const [name, node] of withinNow ?? []) {
    if (!within?.has(name)) collect(joinPath(path, name), undefined, node, changes);
  }
}

/**
 * A copy of a tree in which some paths stand for other files, or for none; folders that no path lies in are shared.
 *
 * @param tree The tree, which is left as it is.
 * @param files The files by path; undefined takes a file away.
 */
export function withFiles(
  tree: FolderNode,
  files: Iterable<readonly [ByteString, FileNode | undefined]>,
): FolderNode {
  const own = new Set<FolderNode>();
  const copy = (folder: FolderNode | undefined): FolderNode => {
    if (folder && own.has(folder)) return folder;
    const copied = new FolderNode(new Map(folder?.entries), new Map(folder?.skipped), folder?.cut);
    own.add(copied);
    return copied;
  };
  const root = copy(tree);
  for (const [path, node] of files) {
    if (!node && !(nodeAt(root, path) instanceof FileNode)) continue;
    const names = path.split("/");
    const name = names.pop()!;
    let folder = root;
    for (const step of names) {
      const next = folder.entries.get(step);
      const inner = copy(next instanceof FolderNode ? next : undefined);
      folder.entries.set(step, inner);
      folder = inner;
    }
    if (node) folder.entries.set(name, node);
    else folder.entries.delete(name);
  }
  return root;
}

/** What a tree has at a path. */
export function nodeAt(tree: FolderNode, path: ByteString): Entry {
  let node: Entry = tree;
  for (const name of path.split("/")) node = node instanceof FolderNode ? node.entries.get(name) : undefined;
  return node;
}
