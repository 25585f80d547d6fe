import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import {
  SSEClientTransport,
  StreamableHTTPClientTransport,
  isJSONRPCRequest,
} from "@modelcontextprotocol/client";
import { HttpFetch } from "./_http_fetch.ts";
import type { McpTarget } from "./_mcp_target.ts";

/** The code of the error that stands in for a reply which cannot come any more. */
export const LOST_CODE = -32_099;

/** Waits between tries to get a stream back: about 11 s altogether where the server does not name one. */
const RECONNECTION = {
  initialReconnectionDelay: 100,
  maxReconnectionDelay: 2_000,
  reconnectionDelayGrowFactor: 1.7,
  maxRetries: 10,
};

type SendOptions = NonNullable<Parameters<StreamableHTTPClientTransport["send"]>[1]>;

/** A request whose reply has not come. */
interface Pending {
  /** Ends its stream, and the tries to get it back. */
  readonly stream: AbortController;
  /** The id of the latest event of its stream. */
  lastEventId: string | undefined;
}

/** The stream of what the server says by itself, as far as it is broken. */
interface Broken {
  /** How often it was tried to get it back. */
  tries: number;
  /** The id of its latest event; undefined if there was none, or the server does not keep what came after. */
  lastEventId: string | undefined;
}

/**
 * Streamable HTTP as the library has it, and every request comes to an end: one whose stream is gone for good fails at
 * once instead of at its time-out, and one that is cancelled gives its connection back. The stream of what the server says
 * by itself, which the library gives up in the end, is opened again once the server answers.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  readonly #http: HttpFetch;
  readonly #pending = new Map<RequestId, Pending>();
  #broken: Broken | undefined;

  constructor(target: McpTarget) {
    const client = new HttpFetch(target);
    super(target.url, {
      fetch: async (input, init) => {
        const lastEventId = new Headers(init?.headers).get("last-event-id") ?? undefined;
        const isGet = init?.method === "GET";
        try {
          const response = await client.fetch(input, init);
          if (isGet) this.#noticeStream(lastEventId, response.status);
          else if (response.ok) this.#repair();
          return response;
        } catch (error) {
          if (isGet) this.#noticeStream(lastEventId, undefined);
          throw error;
        }
      },
      requestInit: { headers: authorization(target) },
      reconnectionOptions: RECONNECTION,
    });
    this.#http = client;
  }

  override async start(): Promise<void> {
    await super.start();
    const { onmessage } = this;
    this.onmessage = (message) => {
      if ("id" in message && !("method" in message) && message.id !== undefined)
        this.#pending.delete(message.id);
      onmessage?.(message);
    };
  }

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options: SendOptions = {}): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message)) {
      await super.send(message, options);
      if (!Array.isArray(message)) this.#noticeCancelled(message);
      return;
    }
    const { id } = message;
    const pending: Pending = { stream: new AbortController(), lastEventId: undefined };
    this.#pending.set(id, pending);
    try {
      await super.send(message, {
        ...options,
        requestSignal: pending.stream.signal,
        onresumptiontoken: (token) => void (pending.lastEventId = token),
        onRequestStreamEnd: () => this.#lose(id, "its stream ended without a reply"),
      });
    } catch (error) {
      this.#pending.delete(id);
      throw error;
    }
  }

  /** Ends the session in the server, as far as it can be reached. */
  async sayGoodbye(patience: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, patience)));
    await Promise.race([this.terminateSession().catch(() => undefined), late]);
    clearTimeout(timer);
  }

  override async close(): Promise<void> {
    this.#pending.clear();
    await super.close();
    this.#http.close();
  }

  /** A request's stream that the server refuses to go on with will not come back. */
  #noticeStream(lastEventId: string | undefined, status: number | undefined): void {
    const isRefused = status !== undefined && status >= 400 && status < 500;
    const own = [...this.#pending].find(([, pending]) => pending.lastEventId === lastEventId);
    if (lastEventId === undefined || !own) {
      const works = status === 405 || (status !== undefined && status < 400);
      const tries = (this.#broken?.tries ?? 0) + 1;
      this.#broken = works ? undefined : { tries, lastEventId: isRefused ? undefined : lastEventId };
    } else if (isRefused) {
      const [id, { stream }] = own;
      this.#lose(id, `the server does not know its stream any more (HTTP ${String(status)})`);
      stream.abort();
    }
  }

  /** Opens the stream of what the server says by itself again, once the library has given it up. */
  #repair(): void {
    const broken = this.#broken;
    if (!broken || broken.tries < RECONNECTION.maxRetries) return;
    this.#broken = undefined;
    // Without an id the stream begins anew. If it fails, the next answer is the next chance.
    this.resumeStream(broken.lastEventId as string).catch(() => {
      if (this.#broken) this.#broken.tries = RECONNECTION.maxRetries;
    });
  }

  #noticeCancelled(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    const { requestId } = (message.params ?? {}) as { requestId?: RequestId };
    const pending = requestId === undefined ? undefined : this.#pending.get(requestId);
    if (!pending) return;
    this.#pending.delete(requestId!);
    pending.stream.abort();
  }

  #lose(id: RequestId, reason: string): void {
    if (!this.#pending.delete(id)) return;
    this.onmessage?.({ jsonrpc: "2.0", id, error: { code: LOST_CODE, message: reason } });
  }
}

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

function authorization({ authToken }: McpTarget): Record<string, string> {
  return authToken === undefined ? {} : { authorization: `Bearer ${authToken}` };
}

/** Whether an error is the one that stands in for a reply. */
export function isLost(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === LOST_CODE;
}
