import type { ServerChannel } from "ssh2";
import { channelInternals, onClosed } from "./_ssh2.ts";
import type { ChannelInternals } from "./_ssh2.ts";

/** The extended data type of standard error. */
const STDERR = 1;
/** As much may wait in the connection's socket; ssh2 itself never looks. */
const SOCKET_BYTES = 256 * 1024;

interface Entry {
  bytes: Buffer;
  readonly toStderr: boolean;
  /** Not there while it is being written for the first time. */
  sent: (() => void) | undefined;
}

/**
 * Writes both outputs of a command to its channel.
 *
 * ssh2's own streams wait for each other for ever when both fill the client's window, ignore a full socket, and close
 * the channel while standard error still waits.
 */
export class ChannelWriter {
  readonly #channel: ChannelInternals;
  #queue: Entry[] = [];
  #waiting = false;
  #closed = false;
  #idle: (() => void)[] = [];

  /** @param channel A channel that nothing else writes data to. */
  constructor(channel: ServerChannel) {
    this.#channel = channelInternals(channel);
    onClosed(channel, () => this.#close());
  }

  /**
   * Writes bytes, or as many as there is room for, and queues the rest.
   *
   * @param bytes Left alone by the caller from now on.
   * @param toStderr Which of the two outputs.
   * @param sent Called later, if at all: when what was queued has gone out, or the channel is closed.
   * @returns Whether all has gone out at once; if not, it is the time to stop reading until `sent` is called.
   */
  write(bytes: Buffer, toStderr: boolean, sent: () => void): boolean {
    if (this.#closed || bytes.length === 0) return true;
    const entry = { bytes, toStderr, sent: undefined as (() => void) | undefined };
    this.#queue.push(entry);
    this.#flush();
    if (this.#queue.length === 0 || !this.#queue.includes(entry)) return true;
    entry.sent = sent;
    return false;
  }

  /** Resolves when nothing is queued any more. */
  drained(): Promise<void> {
    if (this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #close(): void {
    this.#closed = true;
    for (const { sent } of this.#queue.splice(0)) sent?.();
    this.#rest();
  }

  #rest(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #flush(): void {
    if (this.#waiting) return;
    const socket = this.#channel._client._sock;
    socket.cork(); // ssh2 writes a packet in up to three pieces
    while (this.#queue.length > 0 && this.#mayWrite()) this.#writePacket(this.#queue[0]!);
    socket.uncork();
    if (this.#queue.length === 0) this.#rest();
  }

  /** One packet of the first entry; then it is the other output's turn. */
  #writePacket(entry: Entry): void {
    const { outgoing, _client: client } = this.#channel;
    const size = Math.min(entry.bytes.length, outgoing.window, outgoing.packetSize);
    const bytes = entry.bytes.subarray(0, size);
    if (entry.toStderr) client._protocol.channelExtData(outgoing.id, bytes, STDERR);
    else client._protocol.channelData(outgoing.id, bytes);
    outgoing.window -= size;
    this.#queue.shift();
    if (size === entry.bytes.length) {
      entry.sent?.();
    } else {
      entry.bytes = entry.bytes.subarray(size);
      this.#queue.push(entry);
    }
  }

  /** Whether the client's window and our socket have room; if not, `#flush` is called again when they have. */
  #mayWrite(): boolean {
    const channel = this.#channel;
    if (channel.outgoing.state !== "open") {
      this.#close();
      return false;
    }
    const resume = (): void => {
      this.#waiting = false;
      this.#flush();
    };
    if (channel._client._sock.writableLength > SOCKET_BYTES) {
      this.#waiting = true;
      channel._client._sock.once("drain", resume);
      return false;
    }
    if (channel.outgoing.window > 0) return true;
    this.#waiting = true;
    channel._chunk = channel._chunkErr = channel._chunkcbErr = undefined;
    channel._chunkcb = () => {
      channel._chunkcb = undefined;
      resume();
    };
    channel._waitWindow = true;
    return false;
  }
}
