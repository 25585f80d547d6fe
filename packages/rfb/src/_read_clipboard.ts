import { isUtf8 } from "node:buffer";
import { constants, inflateSync } from "node:zlib";
import type { ByteQueue, Parse } from "./_byte_queue.ts";
import { MAX_CLIPBOARD_BYTES } from "./_client_messages.ts";
import { violation } from "./_violation.ts";

/** A server's clipboard message: text, or a message of the extended clipboard. */
export type ClipboardMessage = { readonly text: string } | { readonly flags: number; readonly body: Buffer };

/** ServerCutText (RFC 6143, 7.6.4); a negative length is the extended one's. */
export function* readClipboard(queue: ByteQueue): Parse<ClipboardMessage> {
  if (queue.available < 7) yield 7;
  queue.offset += 3;
  const signed = queue.s32();
  const length = Math.abs(signed);
  if (length > MAX_CLIPBOARD_BYTES || (signed < 0 && length < 4)) {
    throw violation("a clipboard message has at most 16777216 bytes", signed);
  }
  if (queue.available < length) yield length;
  if (signed >= 0) return { text: decodeText(queue.view(length)) };
  const flags = queue.u32();
  return { flags, body: queue.take(length - 4) };
}

/** The protocol says Latin-1; servers send UTF-8 too, and what is valid UTF-8 hardly ever is anything else. */
function decodeText(bytes: Buffer): string {
  return bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");
}

/** The text in a provide message, with the line ends of this side; undefined without text. */
export function providedText(body: Buffer): string | undefined {
  let data: Buffer;
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_CLIPBOARD_BYTES + 4 };
    data = inflateSync(body, options);
  } catch (error) {
    throw violation("a clipboard's content is a zlib stream", (error as NodeJS.ErrnoException).code);
  }
  if (data.length < 4) return undefined;
  const text = data.subarray(4, 4 + data.readUInt32BE(0)).toString("utf8");
  return text.replace(/\0$/, "").replaceAll("\r\n", "\n");
}
