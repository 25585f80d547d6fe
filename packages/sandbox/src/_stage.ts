import { statSync } from "node:fs";
import { dirname } from "node:path";
import { isWithin } from "./bwrap_argv.ts";
import { barrierOf } from "./_identity.ts";
import type { Identity } from "./_identity.ts";

/**
 * The command that goes before bubblewrap where the dropped user could not reach what is to be mounted, such as a clone
 * or a Node below `/root`.
 *
 * An outer bubblewrap, still root's, shows the whole host as it is, except that each folder the user cannot enter is
 * covered by an empty one in which only what is needed appears, under the same path. No mode of the host changes. Then
 * `setpriv` drops root and the real bubblewrap starts, unprivileged.
 *
 * @param bwrap The path of bubblewrap.
 * @param identity Whom to drop to.
 * @param sources Host paths to reach; `writable` is the one that is not read-only.
 * @returns The words before `bwrap`, or undefined where nothing is out of reach.
 */
export function stageCommand(
  bwrap: string,
  identity: Identity,
  sources: readonly { readonly path: string; readonly writable: boolean }[],
): string[] | undefined {
  const hiddenAway = sources.flatMap((source) => {
    const barrier = barrierOf(source.path, identity);
    return barrier === undefined ? [] : [{ ...source, barrier }];
  });
  if (hiddenAway.length === 0) return undefined;
  const barriers = [...new Set(hiddenAway.map(({ barrier }) => barrier))];
  return [
    bwrap,
    "--die-with-parent",
    "--dev-bind",
    "/",
    "/",
    ...barriers.flatMap((barrier) => ["--perms", "0755", "--tmpfs", barrier]),
    ...outermost(hiddenAway).flatMap((source) => showAt(source)),
    "--",
    ...dropCommand(identity),
  ];
}

/** The words before a command that run it as an identity, without root's rights. */
export function dropCommand({ uid, gid }: Identity): string[] {
  const user = ["--reuid", String(uid), "--regid", String(gid), "--clear-groups"];
  return ["setpriv", ...user, "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"];
}

/** Outer folders first, without what a bind of an outer folder shows anyway. */
function outermost<T extends { path: string; writable: boolean }>(sources: readonly T[]): T[] {
  const unique = [...new Map(sources.map((source) => [source.path, source])).values()];
  const covers = (outer: T, inner: T): boolean =>
    outer !== inner && isWithin(inner.path, outer.path) && (outer.writable || !inner.writable);
  return unique
    .filter((inner) => !unique.some((outer) => covers(outer, inner)))
    .sort((first, second) => first.path.length - second.path.length);
}

function showAt({ path, writable, barrier }: { path: string; writable: boolean; barrier: string }): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); folder !== barrier; folder = dirname(folder)) folders.unshift(folder);
  const isFolder = statSync(path).isDirectory();
  return [
    ...folders.flatMap((folder) => ["--perms", "0755", "--dir", folder]),
    ...(isFolder ? ["--perms", "0755", "--dir", path] : []),
    writable ? "--bind" : "--ro-bind",
    path,
    path,
  ];
}
