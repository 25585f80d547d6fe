import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * A request as web-standard code wants it, without its body, which has been read.
 *
 * @param request What came in.
 */
export function toWebRequest(request: IncomingMessage): Request {
  const headers = new Headers();
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const { method = "GET", url = "/" } = request;
  return new Request(new URL(url, `http://${headers.get("host") ?? "localhost"}`), { method, headers });
}

/**
 * Sends a web-standard response, as fast as it is taken. If the connection goes first, its body is cancelled.
 *
 * @param response Where to.
 * @param answer What.
 */
export async function respond(response: ServerResponse, answer: Response): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) return void response.end();
  response.flushHeaders();
  const reader = answer.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const gone = new AbortController();
  response.once("close", () => {
    gone.abort();
    void reader.cancel().catch(() => undefined);
  });
  for (;;) {
    const { done, value } = await reader.read();
    if (done || gone.signal.aborted) break;
    if (response.write(value)) continue;
    await once(response, "drain", { signal: gone.signal }).catch(() => undefined);
  }
  response.end();
}
