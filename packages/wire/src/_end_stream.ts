import type { ByteStream } from "./byte_stream.ts";

/**
 * Ends the writing direction and waits until the stream has closed, which takes the other side's end too; then destroys
 * it. The stream must flow, so that the other side's end can be seen.
 *
 * @param stream A stream with a listener for `error`.
 * @param timeout How long the other side has, in milliseconds.
 */
export async function endStream(stream: ByteStream, timeout: number): Promise<void> {
  if (stream.closed) return;
  if (!stream.writableEnded) stream.end();
  const timer = setTimeout(() => stream.destroy(), timeout);
  await new Promise((resolve) => stream.once("close", resolve));
  clearTimeout(timer);
}
