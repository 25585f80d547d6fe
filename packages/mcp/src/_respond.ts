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
  const state = { gone: false, wake: (): void => undefined };
  response
    .on("drain", () => state.wake())
    .once("close", () => {
      state.gone = true;
      state.wake();
      void reader.cancel().catch(() => undefined);
    });
  const drained = (): Promise<void> =>
    new Promise((resolve) => {
      state.wake = resolve;
      if (state.gone) resolve();
    });
  while (!state.gone) {
    const { done, value } = await reader.read();
    if (done) break;
    if (!response.write(value)) await drained();
  }
  response.end();
}
