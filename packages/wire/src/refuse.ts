import { endStream } from "./_end_stream.ts";
import { encodeFrame } from "./encode_frame.ts";
import type { FramedStream } from "./framed_stream.ts";
import type { MessageId } from "./message.ts";
import type { ProtocolError } from "./protocol_error.ts";

/** How long bytes of a refused peer are read and dropped, so that the error frame reaches it, in milliseconds. */
const LINGER_MS = 500;

/**
 * Sends one error frame and closes the connection; what the other side still sends is read and dropped for half a
 * second, since a reset would destroy the error on its way.
 *
 * @param framed The stream; nobody may be reading from it.
 * @param error What the other side is told.
 * @param id The id to answer with; null if it could not be read.
 *
 * @example
 * ```ts
 * import { ErrorCode, FramedStream, ProtocolError, refuse } from "@envport/wire";
 * import net from "node:net";
 *
 * const server = net.createServer({ allowHalfOpen: true }, (socket) => {
 *   void refuse(new FramedStream(socket), new ProtocolError(ErrorCode.serverError, "no capacity"));
 * });
 * server.listen(0, "127.0.0.1", () => server.close());
 * ```
 */
export async function refuse(
  framed: FramedStream,
  error: ProtocolError,
  id: MessageId | null = null,
): Promise<void> {
  if (framed.stream.writable) framed.stream.write(encodeFrame({ id, error: error.toObject() }));
  await linger(framed);
}

/**
 * Ends the writing direction and drops what still arrives until the other side has ended too, at most for half a second;
 * then destroys the stream.
 *
 * @param framed The stream; nobody may be reading from it.
 *
 * @example
 * ```ts
 * import { FramedStream, linger } from "@envport/wire";
 * import { PassThrough } from "node:stream";
 *
 * const framed = new FramedStream(new PassThrough());
 * framed.stream.write("bye\n");
 * await linger(framed);
 * ```
 */
export async function linger(framed: FramedStream): Promise<void> {
  const { stream } = framed.release();
  stream.on("error", () => {
    // Nobody is interested any more.
  });
  stream.resume();
  await endStream(stream, LINGER_MS);
}
