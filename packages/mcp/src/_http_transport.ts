import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport, isJSONRPCRequest } from "@modelcontextprotocol/client";
import { HttpFetch } from "./_http_fetch.ts";
import type { McpTarget } from "./_mcp_target.ts";
import { authorization } from "./_mcp_target.ts";

/** The code of the error that stands in for a reply which cannot come any more. */
const LOST_CODE = -32_099;

/** Waits between tries to get a stream back: about 11 s altogether where the server does not name one. */
const RECONNECTION = {
  initialReconnectionDelay: 100,
  maxReconnectionDelay: 2_000,
  reconnectionDelayGrowFactor: 1.7,
  maxRetries: 10,
};

/** Tells a request's HTTP exchange which request it is of; never sent. */
const REQUEST_HEADER = "x-envport-request";

type SendOptions = NonNullable<Parameters<StreamableHTTPClientTransport["send"]>[1]>;

/** A request whose reply has not come. */
interface Pending {
  readonly id: RequestId;
  /** Ends its stream. */
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
  readonly #pending = new Map<string, Pending>();
  #broken: Broken | undefined;

  constructor(target: McpTarget) {
    super(target.url, {
      fetch: (input, init) => this.#fetch(input, init),
      requestInit: { headers: authorization(target) },
      reconnectionOptions: RECONNECTION,
    });
    this.#http = new HttpFetch(target);
  }

  override async start(): Promise<void> {
    await super.start();
    const onmessage = this.onmessage?.bind(this);
    this.onmessage = (message) => {
      if (!("method" in message) && message.id !== undefined) this.#pending.delete(String(message.id));
      onmessage?.(message);
    };
  }

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options: SendOptions = {}): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message)) {
      await super.send(message, options);
      if (!Array.isArray(message)) this.#noticeCancelled(message);
      return;
    }
    const key = String(message.id);
    const pending: Pending = { id: message.id, stream: new AbortController(), lastEventId: undefined };
    this.#pending.set(key, pending);
    try {
      await super.send(message, {
        ...options,
        headers: { ...options.headers, [REQUEST_HEADER]: key },
        onresumptiontoken: (token) => void (pending.lastEventId = token),
        onRequestStreamEnd: () => {
          this.#lose(pending, "its stream ended without a reply");
          this.#pending.delete(key);
        },
      });
    } catch (error) {
      this.#pending.delete(key);
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
    await super.close();
    for (const { stream } of this.#pending.values()) stream.abort();
    this.#pending.clear();
    this.#http.close();
  }

  /**
   * An exchange of a request heeds the request's own signal. (Signals made of two, as the library would do it, stay with
   * the longer-lived one for ever on Node 20.)
   */
  async #fetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (init.method === "GET") return await this.#fetchStream(input, { ...init, headers });
    const pending = this.#pending.get(headers.get(REQUEST_HEADER) ?? "");
    headers.delete(REQUEST_HEADER);
    const signal = pending?.stream.signal ?? init.signal ?? null;
    const response = await this.#http.fetch(input, { ...init, headers, signal });
    if (response.ok) this.#repair();
    return response;
  }

  async #fetchStream(input: string | URL, init: RequestInit & { headers: Headers }): Promise<Response> {
    const lastEventId = init.headers.get("last-event-id") ?? undefined;
    const pending =
      lastEventId === undefined
        ? undefined
        : [...this.#pending.values()].find((one) => one.lastEventId === lastEventId);
    // Nobody waits for it any more: to the library, this is a server that has no streams to go on with.
    if (pending?.stream.signal.aborted) return new Response(null, { status: 405 });
    const signal = pending?.stream.signal ?? init.signal ?? null;
    let status: number | undefined;
    try {
      const response = await this.#http.fetch(input, { ...init, signal });
      ({ status } = response);
      return response;
    } finally {
      if (pending) this.#noticeResumed(pending, status);
      else this.#noticeStandalone(lastEventId, status);
    }
  }

  /** A stream that the server refuses to go on with will not come back. */
  #noticeResumed(pending: Pending, status: number | undefined): void {
    if (status === undefined || status < 400 || status >= 500) return;
    this.#lose(pending, `the server does not know its stream any more (HTTP ${String(status)})`);
  }

  #noticeStandalone(lastEventId: string | undefined, status: number | undefined): void {
    const works = status !== undefined && (status < 400 || status === 405);
    const isRefused = status !== undefined && status >= 400 && status < 500;
    const tries = (this.#broken?.tries ?? 0) + 1;
    this.#broken = works ? undefined : { tries, lastEventId: isRefused ? undefined : lastEventId };
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
    this.#pending.get(String(requestId))?.stream.abort();
  }

  /** Answers a request whose reply cannot come any more. */
  #lose({ id, stream }: Pending, reason: string): void {
    if (stream.signal.aborted || !this.#pending.has(String(id))) return;
    this.onmessage?.({ jsonrpc: "2.0", id, error: { code: LOST_CODE, message: reason } });
    stream.abort();
  }
}

/** Whether an error is the one that stands in for a reply. */
export function isLost(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === LOST_CODE;
}
