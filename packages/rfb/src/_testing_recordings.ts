/** Recorded sessions: what a server said, byte by byte, and what its screen then showed. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { RfbCore } from "./_rfb_core.ts";
import type { RfbEvent } from "./_rfb_event.ts";

const FOLDER = join(import.meta.dirname, "testdata");

/** A session: `<server>-<encoding>.bin.gz`, with its last picture's digest in `sessions.json`. */
export interface Recording {
  readonly name: string;
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** All of them. */
export function recordings(): Recording[] {
  const digests = JSON.parse(readFileSync(join(FOLDER, "sessions.json"), "utf8"));
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".bin.gz"))
    .map((file) => {
      const name = file.slice(0, -".bin.gz".length);
      return { name, bytes: gunzipSync(readFileSync(join(FOLDER, file))), sha256: digests[name] };
    });
}

/** Plays bytes in chunks of the sizes given, the last of which repeats. */
export function play(bytes: Buffer, sizes: Iterable<number>): { core: RfbCore; told: string[] } {
  const told: string[] = [];
  const emit = (event: RfbEvent): void => {
    told.push(event.type === "send" ? event.data.toString("hex") : JSON.stringify(event));
  };
  const core = new RfbCore({ password: "secret", encodings: () => [0], emit });
  const iterator = sizes[Symbol.iterator]();
  let size = bytes.length;
  for (let at = 0; at < bytes.length; at += size) {
    size = iterator.next().value ?? size;
    // A copy whose memory is spoilt afterwards: nothing of a chunk may be kept.
    const chunk = Buffer.from(bytes.subarray(at, at + size));
    core.receive(chunk);
    chunk.fill(0xa5);
  }
  return { core, told };
}

/** What a screen shows, in short. */
export function digest(pixels: Uint8Array): string {
  return createHash("sha256").update(pixels).digest("hex");
}
