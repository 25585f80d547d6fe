import type { AbortOptions, Capability, EnvportErrorCode, JsonObject } from "@envport/wire";
import {
  EnvportError,
  FramedStream,
  ProtocolError,
  RpcClient,
  fromManifest,
  isJsonObject,
  own,
} from "@envport/wire";
import type { Endpoint } from "./_dial.ts";

/** What the server says of itself and of the session in its reply to `hello` (SESS-1, SESS-9). */
export interface Manifest {
  sessionId: string;
  environment: { name: string; version: string };
  bindings: Capability[];
  /** `"envport/1"` or whatever the server calls it; undefined for a server that does not say. */
  protocol: string | undefined;
  /** What the server can do beyond the base contract. */
  capabilities: JsonObject;
}

/** Options of {@linkcode ControlConnection.open}. */
export interface OpenOptions extends AbortOptions {
  maxFrameBytes?: number | undefined;
  hello: JsonObject;
  onNotification: (method: string, params: JsonObject) => void;
}

interface QueuedCall {
  /** Fails the call if it has not been sent yet. */
  cancel?: () => void;
}

/** How long a heartbeat may take. */
const HEARTBEAT_TIMEOUT_MS = 5_000;

/** One control connection: calls one after the other, `tasks.cancel` and `ping` excepted (CLI-5). */
export class ControlConnection {
  readonly manifest: Manifest;
  /** Resolves to the reason when the connection has ended. */
  readonly closed: Promise<EnvportError>;
  readonly #rpc: RpcClient;
  readonly #queued = new Set<QueuedCall>();
  #lastCall: Promise<unknown> = Promise.resolve();

  private constructor(rpc: RpcClient, manifest: Manifest) {
    this.#rpc = rpc;
    this.manifest = manifest;
    this.closed = rpc.closed;
  }

  /**
   * Connects and says hello.
   *
   * @param endpoint The control port.
   * @param options The params of `hello`.
   * @throws {ProtocolError} What the server answered.
   * @throws {EnvportError} If it is not there yet (`connection-lost`) or speaks something else (`protocol-violation`).
   */
  static async open(endpoint: Endpoint, options: OpenOptions): Promise<ControlConnection> {
    const { signal, maxFrameBytes, hello, onNotification } = options;
    const stream = await endpoint.dial({ signal });
    const rpc = new RpcClient(new FramedStream(stream, { maxFrameBytes }), { onNotification });
    try {
      const result = await rpc.call("hello", hello, { signal });
      return new ControlConnection(rpc, readManifest(result));
    } catch (error) {
      rpc.abort(new EnvportError("closed", "Cannot go on as hello failed"));
      throw error;
    }
  }

  /**
   * Calls a method when the calls before it are done.
   *
   * @param method The method's name.
   * @param params Its parameters.
   */
  async call(method: string, params: JsonObject): Promise<JsonObject> {
    const turn: QueuedCall = {};
    const cancelled = new Promise<never>((_, reject) => {
      turn.cancel = () => {
        reject(new ProtocolError(-32000, "the call was cancelled before it was sent", { type: "cancelled" }));
      };
    });
    const before = this.#lastCall;
    let done!: () => void;
    this.#lastCall = new Promise<void>((resolve) => (done = resolve));
    this.#queued.add(turn);
    try {
      await Promise.race([before, cancelled]);
      this.#queued.delete(turn);
      return await this.#rpc.call(method, params);
    } finally {
      this.#queued.delete(turn);
      // A call that was cancelled while it waited must not let the next one overtake those before it.
      void before.then(done);
    }
  }

  /** Cancels the session's task and every call that waits (TASK-8); resolves when the clean-up has run. */
  async cancel({ signal }: AbortOptions): Promise<void> {
    for (const { cancel } of this.#queued) cancel?.();
    await this.#rpc.call("tasks.cancel", {}, { signal });
  }

  /** Whether the server answers; at once, also while a call is pending (TASK-10). */
  async ping({ signal }: AbortOptions): Promise<void> {
    await this.#rpc.call("ping", {}, { signal });
  }

  /**
   * Keeps asking whether the server is there (CLI-7); a failure ends the connection.
   *
   * @param intervalMs How often.
   * @param onFailed Told why.
   */
  startHeartbeat(intervalMs: number, onFailed: (error: EnvportError) => void): void {
    const timer = setInterval(() => {
      if (this.#rpc.pendingCalls > 0) return;
      void this.#heartbeat().catch((cause: unknown) => {
        // An error frame is an answer: the server is there.
        if (cause instanceof ProtocolError) return;
        const error = new EnvportError("connection-lost", "Cannot go on as the server did not answer a heartbeat", { cause });
        onFailed(error);
        this.#rpc.abort(error);
      });
    }, intervalMs).unref();
    void this.closed.then(() => {
      clearInterval(timer);
    });
  }

  async #heartbeat(): Promise<void> {
    const { capabilities, sessionId } = this.manifest;
    const signal = AbortSignal.timeout(HEARTBEAT_TIMEOUT_MS);
    if (own(capabilities, "ping") === true) await this.#rpc.call("ping", {}, { signal });
    else await this.#rpc.call("hello", { session_id: sessionId }, { signal });
  }

  /** Ends the connection in good order; the task stays parked (CLI-6). */
  async close(): Promise<void> {
    await this.#rpc.close();
  }

  /** Ends the connection at once. */
  abort(reason: EnvportError): void {
    this.#rpc.abort(reason);
  }
}

function readManifest(result: JsonObject): Manifest {
  const fail = (what: string): never => {
    throw new EnvportError("protocol-violation" satisfies EnvportErrorCode, `Cannot read the reply to hello as ${what}`);
  };
  const env = own(result, "env");
  const sessionId = own(result, "session_id");
  const bindings = own(result, "bindings");
  const protocol = own(result, "protocol");
  const capabilities = own(result, "capabilities");
  if (typeof sessionId !== "string") return fail("'session_id' must be a string");
  if (!isJsonObject(env)) return fail("'env' must be an object");
  if (!Array.isArray(bindings)) return fail("'bindings' must be an array");
  return {
    sessionId,
    environment: { name: String(own(env, "name") ?? ""), version: String(own(env, "version") ?? "") },
    bindings: bindings.map(fromManifest),
    protocol: typeof protocol === "string" ? protocol : undefined,
    capabilities: isJsonObject(capabilities) ? capabilities : {},
  };
}
