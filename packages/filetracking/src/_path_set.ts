import type { ByteString } from "./_names.ts";

/** Paths that are asked for by what lies on the way to them, or beyond. */
export class PathSet {
  readonly #paths = new Set<ByteString>();
  readonly #above = new Set<ByteString>();

  constructor(paths: Iterable<ByteString> = []) {
    for (const path of paths) this.add(path);
  }

  add(path: ByteString): void {
    this.#paths.add(path);
    for (const above of foldersOf(path)) this.#above.add(above);
  }

  /** Whether one of the paths cannot be there together with this one: the one would have to be a folder of the other. */
  excludes(path: ByteString): boolean {
    if (this.#above.has(path)) return true;
    return this.#paths.size > 0 && foldersOf(path).some((above) => this.#paths.has(above));
  }
}

function foldersOf(path: ByteString): ByteString[] {
  const folders: ByteString[] = [];
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1))
    folders.push(path.slice(0, slash));
  return folders;
}
