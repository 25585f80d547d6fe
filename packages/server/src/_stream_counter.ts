import type { Splice } from "@envport/wire";

/** What has gone through the tunnels of one capability (TUN-6). */
export interface StreamStats {
  /** Tunnels open now. */
  open: number;
  /** Tunnels opened since the server started. */
  total: number;
  /** Bytes from clients to the daemon. */
  bytesForth: number;
  /** Bytes from the daemon to clients. */
  bytesBack: number;
}

interface Counter {
  open: Set<Splice>;
  total: number;
  bytesForth: number;
  bytesBack: number;
}

/** Counts tunnels and their bytes by capability. */
export class StreamCounter {
  readonly #counters = new Map<string, Counter>();

  /** Tunnels open now, of all capabilities. */
  get openCount(): number {
    let count = 0;
    for (const { open } of this.#counters.values()) count += open.size;
    return count;
  }

  /**
   * Counts a tunnel until it is closed.
   *
   * @param capability Whose daemon it leads to.
   * @param spliced The tunnel.
   */
  async count(capability: string, spliced: Splice): Promise<void> {
    let counter = this.#counters.get(capability);
    if (!counter)
      this.#counters.set(capability, (counter = { open: new Set(), total: 0, bytesForth: 0, bytesBack: 0 }));
    counter.open.add(spliced);
    counter.total++;
    await spliced.closed;
    counter.open.delete(spliced);
    counter.bytesForth += spliced.bytesForth;
    counter.bytesBack += spliced.bytesBack;
  }

  /** The figures of now, by capability name. */
  stats(): Record<string, StreamStats> {
    const entries = [...this.#counters].map(([name, { open, total, bytesForth, bytesBack }]) => {
      const stats = { open: open.size, total, bytesForth, bytesBack };
      for (const spliced of open) {
        stats.bytesForth += spliced.bytesForth;
        stats.bytesBack += spliced.bytesBack;
      }
      return [name, stats] as const;
    });
    return Object.fromEntries(entries);
  }
}
