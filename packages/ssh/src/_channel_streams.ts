import { Duplex, Readable, Writable } from "node:stream";
import type { ClientChannel } from "ssh2";

/** Enough to keep a fast link busy; ssh2 holds up to 2 MiB more. */
const HIGH_WATER_MARK = 256 * 1024;

/**
 * One direction of a channel as a stream of its own, that fails where the connection was lost: ssh2 ends it as if all
 * had arrived.
 *
 * @param source The channel, or its `stderr`.
 * @param missing The reason for which data may be missing, asked for at the end.
 */
export function channelReadable(source: Readable, missing: () => Error | undefined): Readable {
  const readable = new Readable({
    highWaterMark: HIGH_WATER_MARK,
    read: () => {
      source.resume();
    },
    destroy: (error, callback) => {
      source.resume(); // what nobody reads must not hold up the other stream, which shares the window
      callback(error);
    },
  });
  readable.on("error", () => undefined); // whoever reads is told; `exit` tells the others
  source.on("data", (chunk: Buffer) => {
    if (!readable.destroyed && !readable.push(chunk)) source.pause();
  });
  source.once("end", () => {
    const error = missing();
    if (error) readable.destroy(error);
    else if (!readable.destroyed) readable.push(null);
  });
  return readable;
}

/**
 * The input of a channel as a stream that is destroyed when the channel closes: ssh2's own never calls back after that,
 * and a pipe into it hangs.
 *
 * @param channel The channel.
 */
export function channelWritable(channel: ClientChannel): Writable {
  const writable = new Writable({
    highWaterMark: HIGH_WATER_MARK,
    write: (chunk: Buffer, _encoding, callback) => {
      channel.write(chunk, (error) => callback(error));
    },
    final: (callback) => {
      channel.end();
      callback();
    },
  });
  writable.on("error", () => undefined);
  const gone = (): void => {
    if (!writable.writableFinished) writable.destroy(new Error("Cannot write as the command has ended"));
  };
  channel.once("close", gone);
  return writable;
}

/**
 * A forwarded channel as a stream whose directions end one by one, and that fails where the connection was lost.
 *
 * @param channel The channel.
 * @param missing The reason for which data may be missing, asked for at the end.
 */
export function channelDuplex(channel: ClientChannel, missing: () => Error | undefined): Duplex {
  const input = channelWritable(channel);
  const output = channelReadable(channel, missing);
  const duplex = new Duplex({
    allowHalfOpen: true,
    highWaterMark: HIGH_WATER_MARK,
    read: () => {
      output.resume();
    },
    write: (chunk: Buffer, _encoding, callback) => {
      input.write(chunk, callback);
    },
    final: (callback) => {
      input.end(callback);
    },
    destroy: (error, callback) => {
      channel.close();
      callback(error);
    },
  });
  output.on("data", (chunk: Buffer) => {
    if (!duplex.push(chunk)) output.pause();
  });
  output.once("end", () => duplex.push(null));
  output.once("error", (error) => duplex.destroy(error));
  return duplex;
}
