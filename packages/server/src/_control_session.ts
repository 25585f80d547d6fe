import type { FramedStream, JsonObject, RequestMessage, RpcContext } from "@envport/wire";
import { ErrorCode, ProtocolError, RpcServer, encodeFrame, isJsonObject, own } from "@envport/wire";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Principal } from "./_access.ts";
import { mayReach } from "./_access.ts";
import { publicError } from "./_public_error.ts";
import type { Session, SessionCall, SessionConnection, Sessions } from "./_sessions.ts";
import { cancelledError } from "./_task_runner.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";

/** What a control session is about. */
export interface ControlSessionContext {
  env: Environment;
  /** The server's sessions. */
  sessions: Sessions;
  logger: Logger;
  /** Who speaks. */
  principal: Principal;
}

/** A request in its turn. */
interface Call {
  request: RequestMessage;
  context: RpcContext;
  /** Aborted by `tasks.cancel`. */
  controller: AbortController;
}

type Method = (call: Call) => Promise<JsonObject> | JsonObject;

/** What `hello` says that this server can do beyond the base contract (SESS-9). */
const CAPABILITIES = { cancel: true, ping: true, progress: true, replay: true, takeover: true } as const;

/**
 * One control connection: it speaks for one session at a time, executes requests in order, and answers `tasks.cancel`,
 * `ping` and a `hello` for its own session at once (SESS-11).
 */
export class ControlSession implements SessionConnection {
  readonly #env: Environment;
  readonly #sessions: Sessions;
  readonly #logger: Logger;
  readonly #principal: Principal;
  readonly #rpc: RpcServer;
  readonly #framed: FramedStream;
  readonly #methods: ReadonlyMap<string, Method>;
  #session: Session;
  #wantsProgress = false;
  /** Resolves when this side has ended the connection. */
  readonly #cut: Promise<void>;
  #resolveCut!: () => void;
  /** Resolves when the requests read so far have been executed. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  /** Starts and grades that wait for their turn or are being executed. */
  readonly #cancellable = new Set<Call>();
  /** The start or grade that is being executed. */
  #running: Call | undefined;

  /**
   * @param framed The connection; its first line has been read.
   * @param context What is served, and to whom.
   */
  constructor(framed: FramedStream, { env, sessions, logger, principal }: ControlSessionContext) {
    this.#framed = framed;
    this.#env = env;
    this.#sessions = sessions;
    this.#logger = logger;
    this.#principal = principal;
    this.#session = sessions.open(this, principal.holder);
    this.#cut = new Promise((resolve) => (this.#resolveCut = resolve));
    this.#rpc = new RpcServer(framed, {
      handle: (request, context) => this.#handle(request, context),
      describeError: (error, request) => this.#describe(error, request),
    });
    this.#methods = new Map<string, Method>([
      ["hello", ({ request }) => this.#hello(request.params)],
      [
        "tasks.list",
        () => ({ tasks: [...this.#env.templates.values()].map((template) => template.toEntry()) }),
      ],
      ["tasks.start", (call) => this.#start(call)],
      ["tasks.grade", (call) => this.#grade(call)],
      ["bye", () => this.#bye()],
    ]);
  }

  get leaving(): boolean {
    return this.#framed.ended;
  }

  /** Serves requests until the connection ends; then the session's task is parked. */
  async run(first: Uint8Array): Promise<void> {
    try {
      await this.#rpc.run(first);
    } finally {
      // What came before an end is executed, though nobody may read the replies any more (SESS-4).
      if (this.#framed.ended) await Promise.race([this.#lastTurn, this.#cut]);
      if (this.#isOurs()) this.#sessions.drop(this.#session);
    }
  }

  /** Reads no more and closes the connection; resolves when what was read has been answered. */
  async finish(): Promise<void> {
    this.#rpc.finish();
    await this.#lastTurn;
    await nextTurn();
  }

  displace(): void {
    this.abort();
  }

  /** Ends the connection at once. */
  abort(): void {
    // With an error, since a stream whose other side has ended counts as lost only then.
    this.#framed.stream.destroy(new Error("the connection was cut"));
    this.#resolveCut();
  }

  progress(message: string, fraction: number | undefined): void {
    if (!this.#wantsProgress) return;
    this.#rpc.notify("tasks.progress", fraction === undefined ? { message } : { message, fraction });
  }

  /** Whether the session is still this connection's: not taken over, not ended, the connection not lost. */
  #isOurs(): boolean {
    return this.#session.connection === this;
  }

  #handle(request: RequestMessage, context: RpcContext): Promise<JsonObject> | JsonObject {
    const { method, params } = request;
    if (method === "ping") return {};
    if (method.startsWith("tasks.") && this.#principal.role === "agent") throw forbidden(method);
    if (method === "tasks.cancel") return this.#cancel();
    if (method === "hello" && !this.#namesAnother(params)) return this.#hello(params);
    const done = this.#inTurn({ request, context, controller: new AbortController() });
    this.#lastTurn = done.catch(() => {});
    return done;
  }

  async #inTurn(call: Call): Promise<JsonObject> {
    const { method } = call.request;
    const execute = this.#methods.get(method);
    const cancellable = method === "tasks.start" || method === "tasks.grade";
    if (cancellable) this.#cancellable.add(call);
    try {
      await this.#lastTurn;
      await this.#rpc.drained();
      if (call.controller.signal.aborted || !this.#isOurs()) throw cancelledError("cancelled");
      if (!execute) throw new ProtocolError(ErrorCode.methodNotFound, `method not found: ${method}`);
      if (cancellable) this.#running = call;
      return await execute(call);
    } finally {
      if (cancellable) this.#running = undefined;
      this.#cancellable.delete(call);
    }
  }

  #namesAnother(params: JsonObject): boolean {
    const id = own(params, "session_id") ?? this.#session.id;
    return id !== this.#session.id;
  }

  /** SESS-1, SESS-2, SESS-6, SESS-8, SESS-9. */
  #hello(params: JsonObject): JsonObject {
    const id = own(params, "session_id") ?? this.#session.id;
    if (typeof id !== "string") {
      throw new ProtocolError(ErrorCode.invalidParams, "hello: 'session_id' must be a string");
    }
    if (id !== this.#session.id) {
      this.#session = this.#sessions.resume(this.#session, id, own(params, "takeover") === true);
    }
    if (own(params, "replay") === true) this.#session.replay = true;
    if (own(params, "progress") === true) this.#wantsProgress = true;
    const { name, version } = this.#env;
    return {
      session_id: this.#session.id,
      env: { name, version },
      bindings: this.#env.toBindings((capability) => mayReach(this.#principal, capability)),
      protocol: "envport/1",
      capabilities: CAPABILITIES,
    };
  }

  async #start(call: Call): Promise<JsonObject> {
    const { request } = call;
    const id = own(request.params, "id");
    if (typeof id !== "string") {
      throw new ProtocolError(ErrorCode.invalidParams, "tasks.start: 'id' must be a string");
    }
    const args = own(request.params, "args") ?? {};
    if (!isJsonObject(args)) {
      throw new ProtocolError(ErrorCode.invalidParams, "tasks.start: 'args' must be an object");
    }
    const prompt = await this.#sessions.start(this.#session, id, args, this.#sessionCall(call));
    // The reply that cannot be sent says why; its task is over by then (FRAME-5).
    if (this.#isOurs() && !this.#canSend(request, prompt)) await this.#sessions.cancel(this.#session);
    return prompt;
  }

  #canSend({ id }: RequestMessage, result: JsonObject): boolean {
    if (id === undefined) return true;
    try {
      encodeFrame({ id, result }, this.#framed.maxFrameBytes);
      return true;
    } catch {
      return false;
    }
  }

  async #grade(call: Call): Promise<JsonObject> {
    return await this.#sessions.grade(this.#session, this.#sessionCall(call));
  }

  #sessionCall({ request, context, controller }: Call): SessionCall {
    return { params: request.params, connection: this, context, signal: controller.signal };
  }

  /**
   * Aborts what runs and what waits before it, then ends the task that the session has by then; their errors come before
   * this reply (TASK-8, CLI-5).
   */
  async #cancel(): Promise<JsonObject> {
    for (const { controller } of this.#cancellable) controller.abort();
    if (this.#running && this.#isOurs()) void this.#sessions.cancel(this.#session);
    const before = this.#lastTurn;
    this.#lastTurn = (async () => {
      await before;
      if (this.#isOurs()) await this.#sessions.cancel(this.#session);
      await nextTurn();
    })();
    await this.#lastTurn;
    return { cancelled: true };
  }

  async #bye(): Promise<JsonObject> {
    await this.#sessions.end(this.#session);
    this.#rpc.finish();
    return { goodbye: true };
  }

  #describe(error: unknown, request: RequestMessage): ProtocolError {
    this.#logger.log("warn", `${request.method} failed`, { session: this.#session.id, error });
    return publicError(error);
  }
}

/** SESS-10: an agent may not grade itself. */
function forbidden(method: string): ProtocolError {
  const message = `${method} is for the orchestrator: this connection has an agent's token`;
  return new ProtocolError(ErrorCode.unauthorized, message, { type: "forbidden" });
}
