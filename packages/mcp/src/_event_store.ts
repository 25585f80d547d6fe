import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

/** Limits of all sessions together. */
export interface EventLimits {
  readonly maxBytes: number;
  readonly maxStreams: number;
}

interface Stream {
  readonly events: { id: string; sequence: number; message: JSONRPCMessage; bytes: number }[];
}

/**
 * What has been sent, for clients whose connection broke. The streams of all sessions share one budget; those that were
 * used longest ago go first, whole, so that what is there has no gaps. An event's id names its stream.
 */
export class Events {
  readonly #limits: EventLimits;
  readonly #streams = new Map<string, Stream>();
  #sequence = 0;
  #bytes = 0;

  constructor(limits: EventLimits) {
    this.#limits = limits;
  }

  /** Bytes and streams that are held. */
  get held(): { bytes: number; streams: number } {
    return { bytes: this.#bytes, streams: this.#streams.size };
  }

  /** The events of one session, as the library wants them. It names its streams, some alike in every session. */
  of(session: string): EventStore {
    const key = (stream: string): string => `${session} ${stream}`;
    // Without `getStreamIdForEventId` the library lets a client take over a stream whose old connection it does not know
    // to be dead yet; with it, it answers 409 until the client gives up.
    return {
      storeEvent: (stream, message) => Promise.resolve(this.#store(key(stream), stream, message)),
      replayEventsAfter: async (lastId, { send }) => {
        const { sequence, stream } = parseId(lastId);
        const found = [...(this.#streams.get(key(stream))?.events ?? [])];
        for (const event of found) if (event.sequence > sequence) await send(event.id, event.message);
        return stream;
      },
    };
  }

  /** Whether everything after an event can still be replayed. */
  knows(session: string, lastId: string): boolean {
    return ID.test(lastId) && this.#streams.has(`${session} ${parseId(lastId).stream}`);
  }

  /** Drops what a session had. */
  forget(session: string): void {
    for (const key of this.#streams.keys()) if (key.startsWith(`${session} `)) this.#drop(key);
  }

  #store(key: string, stream: string, message: JSONRPCMessage): string {
    const sequence = ++this.#sequence;
    const id = `${sequence.toString(36)}.${stream}`;
    const { events } = this.#streams.get(key) ?? { events: [] };
    // The last one used comes last.
    this.#streams.delete(key);
    this.#streams.set(key, { events });
    // The first event of a stream only says that it is there.
    if (Object.keys(message).length > 0) {
      const bytes = JSON.stringify(message).length;
      events.push({ id, sequence, message, bytes });
      this.#bytes += bytes;
    }
    this.#makeRoom(key);
    return id;
  }

  #makeRoom(kept: string): void {
    const { maxBytes, maxStreams } = this.#limits;
    for (const key of this.#streams.keys()) {
      if (this.#bytes <= maxBytes && this.#streams.size <= maxStreams) return;
      if (key !== kept) this.#drop(key);
    }
    // One stream may be over the budget by itself: of it, the newest event is kept.
    const events = this.#streams.get(kept)?.events ?? [];
    while (this.#bytes > maxBytes && events.length > 1) this.#bytes -= events.shift()!.bytes;
  }

  #drop(key: string): void {
    for (const { bytes } of this.#streams.get(key)?.events ?? []) this.#bytes -= bytes;
    this.#streams.delete(key);
  }
}

const ID = /^([0-9a-z]+)\.(.+)$/;

function parseId(id: string): { sequence: number; stream: string } {
  const [, sequence = "0", stream = ""] = ID.exec(id) ?? [];
  return { sequence: Number.parseInt(sequence, 36), stream };
}
