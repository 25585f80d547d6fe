import { EnvportError } from "@envport/wire";
import type { AbortOptions, JsonObject } from "@envport/wire";
import { Worker } from "node:worker_threads";
import { addPage } from "./_worker_messages.ts";
import type { WorkerData, WorkerMethod, WorkerReply, WorkerRequest } from "./_worker_messages.ts";

interface Call {
  resolve(result: JsonObject): void;
  reject(error: Error): void;
  /** What has come so far. */
  result: JsonObject | undefined;
}

/** How long the thread may take to close its connections. */
const CLOSE_MS = 2000;

/** The thread that a tracker works in. It keeps the program alive only while it is asked for something, or serves. */
export class TrackerThread {
  /** Resolves when the thread is gone: to undefined after `close`, else to the reason. */
  readonly closed: Promise<Error | undefined>;
  readonly #worker: Worker;
  readonly #calls = new Map<number, Call>();
  #lastId = 0;
  #serves = false;
  #closing: Promise<void> | undefined;
  #failure: Error | undefined;

  /**
   * @param data What to track.
   * @param log Takes what must not cross the wire.
   */
  constructor(data: WorkerData, log: (message: string, error: unknown) => void) {
    this.#worker = startWorker(data);
    this.#worker.unref();
    this.#worker.on("message", (reply: WorkerReply) => {
      if ("log" in reply) log(reply.log, reply.error);
      else this.#receive(reply);
    });
    this.#worker.on("error", (error) => (this.#failure = error));
    this.closed = new Promise((resolve) => {
      this.#worker.once("exit", () => resolve(this.#end()));
    });
  }

  /**
   * Has the thread do something.
   *
   * @param params Only `listen` has some.
   * @throws {EnvportError} `closed` If the thread is gone, `service-failed` if it could not do it.
   */
  async call(
    method: WorkerMethod,
    params: JsonObject = {},
    { signal }: AbortOptions = {},
  ): Promise<JsonObject> {
    signal?.throwIfAborted();
    if (this.#closing) throw gone(this.#failure);
    return await this.#call(method, params, signal);
  }

  async #call(method: WorkerMethod, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const id = ++this.#lastId;
    const abandon = (): void => this.#take(id)?.reject(signal!.reason as Error);
    signal?.addEventListener("abort", abandon, { once: true });
    try {
      const result = await new Promise<JsonObject>((resolve, reject) => {
        this.#calls.set(id, { resolve, reject, result: undefined });
        this.#worker.ref();
        this.#post({ id, method, params });
      });
      if (method === "listen") this.#serves = true;
      return result;
    } finally {
      signal?.removeEventListener("abort", abandon);
      if (this.#calls.size === 0 && !this.#serves) this.#worker.unref();
    }
  }

  /** Ends connections in good order, and the thread. Idempotent. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    const closing = this.#call("close", {});
    const timer = setTimeout(() => void this.#worker.terminate(), CLOSE_MS);
    await closing.catch(() => undefined);
    clearTimeout(timer);
    await this.#worker.terminate();
    await this.closed;
  }

  #receive(reply: Exclude<WorkerReply, { log: string }>): void {
    const { id } = reply;
    const call = this.#calls.get(id);
    if ("error" in reply) this.#take(id)?.reject(failure(reply.error));
    else if (!call) this.#post({ id, arrived: false });
    else if (reply.more) {
      call.result = addPage(call.result, reply.page);
      this.#post({ id, next: true });
    } else {
      this.#post({ id, arrived: true });
      this.#take(id)!.resolve(call.result!);
    }
  }

  #take(id: number): Call | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  #post(request: WorkerRequest): void {
    this.#worker.postMessage(request);
  }

  /** What is left to say when the thread has gone. */
  #end(): Error | undefined {
    const reason = this.#closing ? undefined : (this.#failure ?? gone());
    this.#closing ??= Promise.resolve();
    for (const id of this.#calls.keys()) this.#take(id)!.reject(gone(this.#failure));
    return reason;
  }
}

function gone(cause?: Error): EnvportError {
  return new EnvportError("closed", "Cannot track files as the tracker is closed", cause ? { cause } : {});
}

function failure({ message, code }: { message: string; code?: string | undefined }): EnvportError {
  return new EnvportError(
    code === "EADDRINUSE" ? "address-in-use" : "service-failed",
    `Cannot track files as the system refused it: ${message}`,
  );
}

/** From TypeScript sources the thread needs a loader; a build has a file beside this one. */
function startWorker(workerData: WorkerData): Worker {
  const fromSource = import.meta.url.endsWith(".ts");
  return fromSource
    ? new Worker(new URL("./_worker_source.mjs", import.meta.url), {
        workerData,
        execArgv: ["--conditions=@envport/source"],
      })
    : new Worker(new URL("./_worker.js", import.meta.url), { workerData, execArgv: [] });
}
