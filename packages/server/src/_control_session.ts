import type { FramedStream, JsonObject, RequestMessage, RpcContext } from "@envport/wire";
import { ErrorCode, ProtocolError, RpcServer, isJsonObject, own } from "@envport/wire";
import { publicError } from "./_public_error.ts";
import type { Session, SessionConnection, Sessions } from "./_sessions.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";

/** A start or grade that waits for its turn. */
interface Turn {
  cancelled: boolean;
}

type Method = (params: JsonObject, context: RpcContext) => Promise<JsonObject> | JsonObject;

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
  readonly #rpc: RpcServer;
  readonly #framed: FramedStream;
  readonly #methods: ReadonlyMap<string, Method>;
  #session: Session;
  #wantsProgress = false;
  #displaced = false;
  /** Resolves when the requests read so far have been executed. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  readonly #turns = new Set<Turn>();
  /** The session whose task is being graded: another one's, after an adoption. */
  #grading: Session | undefined;

  /**
   * @param framed The connection; its first line has been read.
   * @param env What is served.
   * @param sessions The server's sessions.
   * @param logger The server's log.
   */
  constructor(framed: FramedStream, env: Environment, sessions: Sessions, logger: Logger) {
    this.#framed = framed;
    this.#env = env;
    this.#sessions = sessions;
    this.#logger = logger;
    this.#session = sessions.open(this);
    this.#rpc = new RpcServer(framed, {
      handle: (request, context) => this.#handle(request, context),
      describeError: (error, request) => this.#describe(error, request),
      onUnsent: (request) => {
        this.#onUnsent(request);
      },
    });
    this.#methods = new Map<string, Method>([
      ["hello", (params) => this.#hello(params)],
      ["tasks.list", () => ({ tasks: [...this.#env.templates.values()].map((template) => template.toEntry()) })],
      ["tasks.start", (params) => this.#start(params)],
      ["tasks.grade", (params, context) => this.#grade(params, context)],
      ["bye", () => this.#bye()],
    ]);
  }

  /** Serves requests until the connection ends; then the session's task is parked. */
  async run(first: Uint8Array): Promise<void> {
    try {
      await this.#rpc.run(first);
    } finally {
      if (this.#session.connection === this) this.#sessions.drop(this.#session);
    }
  }

  /** Answers what was read and closes the connection. */
  finish(): void {
    this.#rpc.finish();
  }

  displace(): void {
    this.#displaced = true;
    this.#framed.stream.destroy();
  }

  progress(message: string, fraction: number | undefined): void {
    if (!this.#wantsProgress) return;
    this.#rpc.notify("tasks.progress", fraction === undefined ? { message } : { message, fraction });
  }

  #handle(request: RequestMessage, context: RpcContext): Promise<JsonObject> | JsonObject {
    const { method, params } = request;
    if (method === "ping") return {};
    if (method === "tasks.cancel") return this.#cancel();
    if (method === "hello" && !this.#namesAnother(params)) return this.#hello(params);
    const execute = this.#methods.get(method);
    const turn: Turn = { cancelled: false };
    const done = this.#lastTurn.then(async () => {
      this.#turns.delete(turn);
      await this.#rpc.drained();
      // A session that was taken over belongs to somebody else now.
      if (turn.cancelled || this.#displaced) throw cancelled();
      if (!execute) throw new ProtocolError(ErrorCode.methodNotFound, `method not found: ${method}`);
      return await execute(params, context);
    });
    if (method === "tasks.start" || method === "tasks.grade") this.#turns.add(turn);
    this.#lastTurn = done.catch(() => {});
    return done;
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
      bindings: this.#env.toBindings(),
      protocol: "envport/1",
      capabilities: CAPABILITIES,
    };
  }

  async #start(params: JsonObject): Promise<JsonObject> {
    const id = own(params, "id");
    if (typeof id !== "string") {
      throw new ProtocolError(ErrorCode.invalidParams, "tasks.start: 'id' must be a string");
    }
    const args = own(params, "args") ?? {};
    if (!isJsonObject(args)) {
      throw new ProtocolError(ErrorCode.invalidParams, "tasks.start: 'args' must be an object");
    }
    return await this.#sessions.start(this.#session, id, args);
  }

  async #grade(params: JsonObject, context: RpcContext): Promise<JsonObject> {
    try {
      return await this.#sessions.grade(this.#session, params, context, (session) => (this.#grading = session));
    } finally {
      this.#grading = undefined;
    }
  }

  /** Aborts what runs and what waits before it; their errors come before this reply (TASK-8, CLI-5). */
  async #cancel(): Promise<JsonObject> {
    for (const turn of this.#turns) turn.cancelled = true;
    const before = this.#lastTurn;
    const ended = this.#sessions.cancel(this.#grading ?? this.#session);
    this.#lastTurn = Promise.all([before, ended]);
    await this.#lastTurn;
    return { cancelled: true };
  }

  async #bye(): Promise<JsonObject> {
    await this.#sessions.cancel(this.#session);
    this.finish();
    return { goodbye: true };
  }

  /** A prompt that cannot be sent cancels its task (FRAME-5). */
  #onUnsent(request: RequestMessage): void {
    if (request.method !== "tasks.start") return;
    this.#lastTurn = Promise.all([this.#lastTurn, this.#sessions.cancel(this.#session)]);
  }

  #describe(error: unknown, request: RequestMessage): ProtocolError {
    this.#logger.log("warn", `${request.method} failed`, { session: this.#session.id, error });
    return publicError(error);
  }
}

function cancelled(): ProtocolError {
  return new ProtocolError(ErrorCode.serverError, "the call was cancelled", { type: "cancelled" });
}
