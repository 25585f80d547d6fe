import type { IncomingMessage } from "node:http";

/** A body that is no JSON, or too long. */
export class BodyError extends Error {
  readonly status: 400 | 413;
  /** Of JSON-RPC. */
  readonly code: number;

  constructor(status: 400 | 413, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * Reads the JSON of a request.
 *
 * @param request One whose body nobody has read.
 * @param maxBytes The limit.
 * @throws {BodyError} If it is no JSON, or longer than the limit.
 */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const tooLong = (): BodyError =>
    new BodyError(413, -32_000, `Payload Too Large: a message must have at most ${String(maxBytes)} bytes`);
  if (Number(request.headers["content-length"]) > maxBytes) throw tooLong();
  const chunks: Buffer[] = [];
  let size = 0;
  // The connection has to live on for the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLong();
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new BodyError(400, -32_700, "Parse error: Invalid JSON");
  }
}
