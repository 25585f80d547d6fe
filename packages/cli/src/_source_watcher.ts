import type { FSWatcher } from "node:fs";
import { watch } from "node:fs";
import path from "node:path";

/** Editors write a file in several steps; they are one change. */
const SETTLE_MS = 100;

/**
 * Tells of changes of source files. It watches their folders, since editors put new files in the place of old ones; what
 * else changes there, such as a workspace's files, is not told.
 */
export class SourceWatcher {
  /** Whether any source file counts, also one that is new: for a program that fails on a missing one. */
  isBroad = false;
  readonly #files = new Set<string>();
  readonly #folders = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | undefined;
  #waiting: ((file: string) => void) | undefined;

  /** Adds a file, absolute. */
  add(file: string): void {
    this.#files.add(file);
    const folder = path.dirname(file);
    if (this.#folders.has(folder)) return;
    const watcher = watch(folder, (_, name) => {
      if (name !== null) this.#changed(path.join(folder, name));
    });
    // A folder that goes away has nothing more to tell.
    watcher.on("error", () => watcher.close());
    this.#folders.set(folder, watcher);
  }

  /** Resolves to the next file that changes. */
  next(): Promise<string> {
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#folders.values()) watcher.close();
  }

  #changed(file: string): void {
    if (!this.#files.has(file) && !(this.isBroad && /\.([cm]?[jt]sx?|json)$/.test(file))) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#waiting?.(file), SETTLE_MS);
  }
}
