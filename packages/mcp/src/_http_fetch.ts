import { EventEmitter } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";

/** How long an unused connection is kept: less than the 5 s after which servers commonly close it. */
const IDLE_MS = 4_000;
/** How much of a body is held for a reader that does not read. */
const BUFFER_BYTES = 256 * 1024;

/** Options of {@linkcode HttpFetch}. */
export interface HttpFetchOptions {
  /** Where every connection goes, whatever host the URL names. */
  dial: { host: string; port: number };
}

/**
 * `fetch` over `node:http`, as far as the MCP library uses it. Unlike the built-in one it dials another address than the
 * URL's (a forwarder) while `Host` and TLS keep the URL's, has no time-out for bodies (a tool may be silent for an hour),
 * heeds no proxy, and leaves no listener on a signal that many requests share.
 */
export class HttpFetch {
  readonly #dial: { host: string; port: number };
  readonly #agents: { "http:": http.Agent; "https:": https.Agent };

  constructor({ dial }: HttpFetchOptions) {
    this.#dial = dial;
    // An agent's time-out ends idle connections only; those in use just tell.
    const options = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 64 };
    this.#agents = { "http:": new http.Agent(options), "https:": new https.Agent(options) };
  }

  /** Redirects are handed back; the caller decides. */
  readonly fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input);
    const signal = init.signal ?? undefined;
    signal?.throwIfAborted();
    if (signal) EventEmitter.setMaxListeners(0, signal);
    const request = this.#request(url, init);
    const giveUp = (): void => void request.destroy(signal?.reason as Error);
    signal?.addEventListener("abort", giveUp);
    request.once("close", () => signal?.removeEventListener("abort", giveUp));
    try {
      return toResponse(await answer(request, init.body as string | null | undefined), signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  };

  /** Ends idle connections, and those in use. */
  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #request(url: URL, { method = "GET", headers, body }: RequestInit): ClientRequest {
    const protocol = url.protocol as "http:" | "https:";
    const hostname = url.hostname.replace(/^\[|\]$/g, "");
    const size = typeof body === "string" ? { "content-length": String(Buffer.byteLength(body)) } : {};
    return (protocol === "https:" ? https : http).request({
      ...this.#dial,
      agent: this.#agents[protocol],
      method,
      path: url.pathname + url.search,
      headers: { ...Object.fromEntries(new Headers(headers)), ...size, host: url.host },
      ...(protocol === "https:" && isIP(hostname) === 0 ? { servername: hostname } : {}),
    });
  }
}

async function answer(request: ClientRequest, body: string | null | undefined): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    request.once("response", resolve).on("error", reject);
    request.end(body ?? undefined);
  });
}

function toResponse(incoming: IncomingMessage, signal: AbortSignal | undefined): Response {
  const { statusCode: status = 500, statusMessage: statusText = "" } = incoming;
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  if (status === 204 || status === 205 || status === 304) {
    incoming.resume();
    return new Response(null, { status, statusText, headers });
  }
  return new Response(toStream(incoming, signal), { status, statusText, headers });
}

function toStream(incoming: IncomingMessage, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    let settled = false;
    const settle = (act: () => void): void => {
      if (settled) return;
      settled = true;
      act();
    };
    incoming
      .on("data", (chunk: Buffer) => {
        if (settled) return;
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
      })
      .once("end", () => settle(() => controller.close()))
      .on("error", (error) => settle(() => controller.error(signal?.aborted ? signal.reason : error)))
      .once("close", () => settle(() => controller.error(new Error("the connection was closed"))));
  };
  return new ReadableStream(
    { start, pull: () => void incoming.resume(), cancel: () => void incoming.destroy() },
    { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk.byteLength },
  );
}
