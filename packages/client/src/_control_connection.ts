import type { AbortOptions, JsonObject } from "@envport/wire";
import { EnvportError, FramedStream, ProtocolError, RpcClient, own } from "@envport/wire";
import type { Endpoint } from "./_dial.ts";
import { readManifest } from "./_read_manifest.ts";
import type { TurnOptions } from "./_turn_queue.ts";
import { TurnQueue } from "./_turn_queue.ts";
import type { Manifest } from "./manifest.ts";

/** Options of {@linkcode ControlConnection.open}. */
export interface OpenOptions extends AbortOptions {
  maxFrameBytes?: number | undefined;
  /** The params of `hello`. */
  hello: JsonObject;
  onNotification: (method: string, params: JsonObject) => void;
}

/** Sends a request and resolves to its result. */
export type Call = (method: string, params: JsonObject) => Promise<JsonObject>;

/** How long a heartbeat may take, in milliseconds. */
const HEARTBEAT_TIMEOUT_MS = 5_000;
/** What `setInterval` can hold. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** One control connection: calls one after the other, `tasks.cancel` and `ping` excepted (CLI-5). */
export class ControlConnection {
  readonly manifest: Manifest;
  /** Resolves to the reason when the connection has ended. */
  readonly closed: Promise<EnvportError>;
  readonly #rpc: RpcClient;
  readonly #turns = new TurnQueue();
  #end: EnvportError | undefined;

  private constructor(rpc: RpcClient, manifest: Manifest) {
    this.#rpc = rpc;
    this.manifest = manifest;
    this.closed = rpc.closed;
    void rpc.closed.then((reason) => (this.#end ??= reason));
  }

  /**
   * Connects and says hello.
   *
   * @param endpoint The control port.
   * @param options The params of `hello`.
   * @throws {ProtocolError} What the server answered.
   * @throws {EnvportError} If it is not there yet (`connection-lost`) or speaks something else (`protocol-violation`).
   * @throws What the operating system says when the connection cannot be made.
   */
  static async open(endpoint: Endpoint, options: OpenOptions): Promise<ControlConnection> {
    const { signal, maxFrameBytes, hello, onNotification } = options;
    const stream = await endpoint.dial({ signal });
    const rpc = new RpcClient(new FramedStream(stream, { maxFrameBytes }), { onNotification });
    try {
      const result = await rpc.call("hello", { ...hello, ...endpoint.credentials }, { signal });
      return new ControlConnection(rpc, readManifest(result, own(hello, "session_id")));
    } catch (error) {
      rpc.abort(new EnvportError("closed", "Cannot go on as hello failed"));
      throw error;
    }
  }

  /**
   * Runs something that calls when the calls before it are done; at once if there are none.
   *
   * @param work What to do when its turn has come, if the connection is still there.
   * @param options How to give it up.
   */
  async inTurn<T>(work: (call: Call) => Promise<T>, options: TurnOptions): Promise<T> {
    const begin = async (): Promise<T> => {
      if (this.#end) throw this.#end;
      return await work((method, params) => this.#rpc.call(method, params));
    };
    return await this.#turns.run(begin, options);
  }

  /**
   * Cancels the session's task, and the calls that wait to run one (TASK-8); resolves when the clean-up has run.
   *
   * @param options `waiting: false` lets the calls wait on: they are about the next task.
   */
  cancelTask({ waiting }: { waiting: boolean }): Promise<JsonObject> {
    if (waiting) {
      const message = "the call was cancelled before it was sent";
      this.#turns.dismiss(new ProtocolError(-32000, message, { type: "cancelled" }));
    }
    return this.#rpc.call("tasks.cancel", {});
  }

  /**
   * Asks whether the server answers; at once, also while a call is pending (TASK-10). A server without `ping` is asked by
   * a `hello` for the session that it speaks for, and whatever it says is an answer.
   *
   * @param options A signal that gives up.
   */
  async ping({ signal }: AbortOptions): Promise<void> {
    const { capabilities, sessionId } = this.manifest;
    if (own(capabilities, "ping") === true) {
      await this.#rpc.call("ping", {}, { signal });
      return;
    }
    try {
      await this.#rpc.call("hello", { session_id: sessionId }, { signal });
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
    }
  }

  /**
   * Keeps asking whether the server is there (CLI-7); one that does not answer has its connection ended.
   *
   * @param intervalMs How often.
   * @param onFailed Told why, after the end.
   */
  startHeartbeat(intervalMs: number, onFailed: (error: EnvportError) => void): void {
    const beat = (): void => {
      if (this.#rpc.pendingCalls === 0) void this.#heartbeat(onFailed);
    };
    const timer = setInterval(beat, Math.min(intervalMs, MAX_TIMER_MS)).unref();
    void this.closed.then(() => {
      clearInterval(timer);
    });
  }

  async #heartbeat(onFailed: (error: EnvportError) => void): Promise<void> {
    const late = new AbortController();
    const giveUp = (): void => {
      late.abort(new EnvportError("timeout", `No answer within ${String(HEARTBEAT_TIMEOUT_MS / 1000)} s`));
    };
    // If it was this process that was busy, the answer lies in the socket: it is read before an immediate runs.
    const timer = setTimeout(() => setImmediate(giveUp), HEARTBEAT_TIMEOUT_MS).unref();
    try {
      await this.ping({ signal: late.signal });
    } catch (cause) {
      // An error frame is an answer; of a connection that has ended meanwhile, `closed` tells.
      const ended =
        cause instanceof EnvportError && (cause.code === "closed" || cause.code === "connection-lost");
      if (ended || cause instanceof ProtocolError) return;
      const message = "Cannot go on as the server did not answer a heartbeat";
      const error = new EnvportError("connection-lost", message, { cause });
      this.abort(error);
      onFailed(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the connection in good order; the task stays parked (CLI-6). */
  async close(): Promise<void> {
    this.#end ??= new EnvportError("closed", "Cannot go on as the connection was closed");
    await this.#rpc.close();
  }

  /** Ends the connection at once; pending calls fail with the reason. */
  abort(reason: EnvportError): void {
    this.#end ??= reason;
    this.#rpc.abort(reason);
  }
}
