import { SSEClientTransport } from "@modelcontextprotocol/client";
import { HttpFetch } from "./_http_fetch.ts";
import type { McpTarget } from "./_mcp_target.ts";
import { authorization } from "./_mcp_target.ts";

/**
 * HTTP with server-sent events as it was until 2025. The library opens a stream that has ended anew, which is another
 * session that nobody has initialised; here that is the end.
 */
// eslint-disable-next-line @typescript-eslint/no-deprecated -- servers that know nothing else are still there
export class SseTransport extends SSEClientTransport {
  readonly #http: HttpFetch;

  constructor(target: McpTarget) {
    const client = new HttpFetch(target);
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- as above
    super(target.url, {
      fetch: async (input, init) => {
        if (init?.method === "POST") return await client.fetch(input, init);
        return this.#watch(await client.fetch(input, init));
      },
      requestInit: { headers: authorization(target) },
    });
    this.#http = client;
  }

  override async close(): Promise<void> {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- as above
    await super.close();
    this.#http.close();
  }

  #watch(response: Response): Response {
    if (!response.ok || !response.body) return response;
    return new Response(
      untilEnd(response.body, () => void this.close()),
      response,
    );
  }
}

/** The same stream; that it ends or fails is told before its reader hears of it. */
function untilEnd(body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const read = async (): Promise<Uint8Array | undefined> => {
    try {
      const { done, value } = await reader.read();
      if (!done) return value;
    } catch (error) {
      onEnd();
      throw error;
    }
    onEnd();
    return undefined;
  };
  return new ReadableStream({
    pull: async (controller) => {
      const chunk = await read();
      if (chunk) controller.enqueue(chunk);
      else controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
