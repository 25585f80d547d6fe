/**
 * The `ssh2` package as the server needs it, and everything that we use of its inner parts, in one place.
 *
 * ssh2 ends a connection at any packet over 35,000 bytes, a constant that nothing sets from outside, while an exec
 * request with its whole command is one packet. The server therefore works with a copy of the package's modules of its
 * own, in which that one constant has OpenSSH's value; the installed files and everyone else's copy stay as they are.
 */
import crypto from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { Module, createRequire } from "node:module";
import type { Socket } from "node:net";
import { dirname, join, resolve, sep } from "node:path";
import type { Connection, ServerChannel } from "ssh2";

/** What a connection keeps inside. */
export interface ConnectionInternals {
  readonly _sock: Socket;
  readonly _chanMgr: { get(id: number): unknown };
  readonly _protocol: {
    readonly _handlers: { CHANNEL_REQUEST: ChannelRequest };
    channelData(id: number, data: Buffer): void;
    channelExtData(id: number, data: Buffer, type: number): void;
  };
}

/** Reads a channel request that has arrived. */
export type ChannelRequest = (
  protocol: unknown,
  recipient: number,
  type: string,
  wantReply: boolean,
  data: unknown,
) => void;

/** What a channel keeps inside. */
export interface ChannelInternals {
  readonly _client: ConnectionInternals;
  readonly outgoing: {
    readonly id: number;
    window: number;
    readonly packetSize: number;
    readonly state: "open" | "eof" | "closing" | "closed";
  };
  _waitWindow: boolean;
  _chunk: undefined;
  _chunkErr: undefined;
  _chunkcbErr: undefined;
  /** Called when the client has opened its window. */
  _chunkcb: (() => void) | undefined;
}

/** What a session keeps inside. */
export interface SessionInternals {
  /** Set at the client's end of file, after which ssh2 drops signals and window changes. */
  _ending: boolean;
}

export const connectionInternals = (connection: Connection): ConnectionInternals =>
  connection as unknown as ConnectionInternals;

export const channelInternals = (channel: ServerChannel): ChannelInternals =>
  channel as unknown as ChannelInternals;

/**
 * Tells once when a channel is closed, by the client or with its connection. The channel's own `close` event waits until
 * its input has been read, which a command that does not read puts off for ever.
 */
export function onClosed(channel: ServerChannel, listener: () => void): void {
  channel.stderr.once("finish", listener); // ssh2 ends it then, and nobody else does
}

const LIMIT = "const MAX_PACKET_SIZE = 35000;";
/** PACKET_MAX_SIZE of OpenSSH. */
const RAISED = "const MAX_PACKET_SIZE = 262144;";

type Ssh2 = typeof import("ssh2");
let loaded: Ssh2 | undefined;

/**
 * Loads the copy, once.
 *
 * @returns The installed package itself if its source does not have the constant; long commands then end connections.
 */
export function ssh2(): Ssh2 {
  loaded ??= loadCopy();
  return loaded;
}

function loadCopy(): Ssh2 {
  const require = createRequire(import.meta.url);
  // Node was seen to give a linked package's second file without following the link, and then not to find what it needs.
  const entry = realpathSync.native(require.resolve("ssh2"));
  const limited = join(dirname(entry), "protocol/crypto.js");
  const source = readFileSync(limited, "utf8");
  if (!source.includes(LIMIT)) return require(entry) as Ssh2;
  const folder = dirname(entry) + sep;
  // A native part, where one was built, can only be loaded once, and is shared.
  const own = (): string[] =>
    Object.keys(require.cache).filter((file) => file.startsWith(folder) && !file.endsWith(".node"));
  const others = own().map((file) => [file, require.cache[file]] as const);
  const forget = (): void => own().forEach((file) => delete require.cache[file]);
  forget();
  try {
    compile(limited, source.replace(LIMIT, RAISED), require);
    return require(entry) as Ssh2;
  } finally {
    forget();
    for (const [file, module] of others) require.cache[file] = module;
  }
}

/**
 * Runs a CommonJS module from changed source, under its own file name. Its random bytes, a few for the padding of each
 * packet, come from a pool: a call for each was a tenth of the work of sending.
 */
function compile(file: string, source: string, require: NodeJS.Require): void {
  const module = new Module(file) as NodeJS.Module & { _compile(source: string, file: string): void };
  module.filename = file;
  module.require = ((id: string): unknown =>
    id === "crypto"
      ? { ...crypto, randomFillSync: fillFromPool }
      : require(resolve(dirname(file), id))) as NodeJS.Require;
  require.cache[file] = module;
  module._compile(source, file);
  module.loaded = true;
}

const pool = Buffer.alloc(8_192);
let used = pool.length;

/** `randomFillSync` for short lengths; each byte of the pool is given out once. */
function fillFromPool(target: Buffer, at: number, length: number): Buffer {
  if (used + length > pool.length) {
    crypto.randomFillSync(pool);
    used = 0;
  }
  pool.copy(target, at, used, used + length);
  pool.fill(0, used, used + length);
  used += length;
  return target;
}
