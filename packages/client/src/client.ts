import { EventEmitter } from "node:events";
import type { AbortOptions, Capability, CapabilityClient, JsonObject, Logger, Protocol } from "@envport/wire";
import {
  EnvportError,
  parseCapabilityUrl,
  protocolFamily,
  routeUrl,
} from "@envport/wire";
import { findBinding } from "./_bindings.ts";
import type { ControlConnection, Manifest } from "./_control_connection.ts";
import type { Endpoint } from "./_dial.ts";
import { Forwarder } from "./_forwarder.ts";
import { connectPatiently } from "./_retry.ts";
import type { EvaluationResult, GradeOptions, TaskInfo } from "./task.ts";
import { Task } from "./task.ts";

/** What a client tells without being asked. */
export interface ClientEvents {
  /** A forwarder's tunnel was refused; its local connection was reset (CLI-8). */
  "tunnel:refused": [event: { binding: string; error: Error }];
  /** A heartbeat was not answered; the connection has been ended (CLI-7). */
  "heartbeat:failed": [event: { error: EnvportError }];
}

/** What a client is made of; `connect` makes one. */
export interface ClientInit {
  endpoint: Endpoint;
  /** Opens another control connection, for {@linkcode Client.resume}. */
  reconnect(this: void, sessionId: string, options: AbortOptions): Promise<ControlConnection>;
  /** In milliseconds; 0 = none. */
  heartbeatInterval: number;
  route: "tunnel" | "direct";
  logger: Logger;
  /** Whether the session holds a task that an earlier connection started. */
  resumed: boolean;
}

/**
 * A connection to a served environment: one session, its task, and the capabilities that it can open.
 *
 * Closing it leaves the task parked in the environment (CLI-6); {@linkcode Client.bye} gives it up.
 */
export class Client extends EventEmitter<ClientEvents> {
  readonly #init: ClientInit;
  readonly #forwarders = new Map<string, Forwarder>();
  readonly #opened = new Map<string, Promise<CapabilityClient>>();
  /** Why the latest tunnel of a binding was refused. */
  readonly #refusals = new Map<string, Error>();
  #connection: ControlConnection;
  #holdsTask: boolean;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(init: ClientInit, connection: ControlConnection) {
    super();
    this.#init = init;
    this.#connection = connection;
    this.#holdsTask = init.resumed;
  }

  /** @internal Brings the forwarders up and begins to listen for the end. */
  async attach(): Promise<void> {
    if (this.#init.heartbeatInterval > 0) {
      this.#connection.startHeartbeat(this.#init.heartbeatInterval, (error) => {
        this.#init.logger.log("warn", error.message, { url: this.url });
        this.emit("heartbeat:failed", { error });
      });
    }
    const { bindings } = this.manifest;
    for (const [name, forwarder] of this.#forwarders) {
      if (bindings.some((binding) => binding.name === name)) continue;
      this.#forwarders.delete(name);
      await forwarder.close();
    }
    await Promise.all(bindings.map((binding) => this.#forward(binding)));
  }

  async #forward({ name, url }: Capability): Promise<void> {
    const direct = this.#init.route === "direct" && !isLoopback(parseCapabilityUrl(url).host);
    if (direct || this.#forwarders.has(name)) return;
    const forwarder = new Forwarder(this.#init.endpoint, name, (error) => {
      this.#refusals.set(name, error);
      this.#init.logger.log("warn", `a tunnel to '${name}' was refused: ${error.message}`);
      this.emit("tunnel:refused", { binding: name, error });
    });
    this.#forwarders.set(name, forwarder);
    await forwarder.listen();
  }

  /** The control port: `tcp://127.0.0.1:8765`. */
  get url(): string {
    return this.#init.endpoint.url;
  }

  /** What the environment said in its reply to `hello`. */
  get manifest(): Manifest {
    return this.#connection.manifest;
  }

  /** The session's id; whoever knows it can resume the session. */
  get sessionId(): string {
    return this.manifest.sessionId;
  }

  /** Name and version of the environment. */
  get environment(): { name: string; version: string } {
    return this.manifest.environment;
  }

  /** The bindings as the environment published them; {@linkcode Client.binding} gives one that can be dialled from here. */
  get bindings(): readonly Capability[] {
    return this.manifest.bindings;
  }

  /** Resolves to the reason when the control connection has ended. */
  get closed(): Promise<EnvportError> {
    return this.#connection.closed;
  }

  /**
   * Lists the environment's tasks.
   *
   * @param options A signal that gives up.
   */
  async tasks(options: AbortOptions = {}): Promise<TaskInfo[]> {
    const { tasks } = await this.#call("tasks.list", {}, options);
    if (!Array.isArray(tasks)) throw violation("tasks.list", "'tasks' must be an array");
    return tasks as TaskInfo[];
  }

  /**
   * Starts a task; an earlier one of this session is given up.
   *
   * @param id One of the environment's tasks.
   * @param args Its arguments.
   * @param options A signal that cancels the start.
   * @throws {ProtocolError} If there is no such task, the arguments do not validate, or the task throws.
   */
  async start(id: string, args: JsonObject = {}, options: AbortOptions = {}): Promise<Task> {
    this.#holdsTask = true;
    const frame = await this.#call("tasks.start", { id, args }, options, true);
    return new Task(
      id,
      frame,
      (answer, gradeOptions) => this.grade(answer, gradeOptions),
      (cancelOptions) => this.cancel(cancelOptions),
    );
  }

  /**
   * Grades the task of this session: one that it started, or that an earlier connection of it did.
   *
   * @param answer A string, or any JSON value that the task expects; undefined for none.
   * @param options A signal that cancels the grade. `adopt` allows a session without a task of its own to grade the only
   *   parked one, which may be anybody's (SESS-5).
   * @throws {EnvportError} If the session holds no task and `adopt` is not set (`no-task`).
   * @throws {ProtocolError} If the task throws, or the environment has none to grade.
   */
  async grade(answer?: unknown, options: GradeOptions & { adopt?: boolean } = {}): Promise<EvaluationResult> {
    if (!this.#holdsTask && !options.adopt) {
      throw new EnvportError(
        "no-task",
        "Cannot grade as this session has started no task: start one, connect with its sessionId, or pass adopt: true",
      );
    }
    const params = { ...options.params, ...(answer === undefined ? {} : { answer }) };
    const evaluation = await this.#call("tasks.grade", params, options, true);
    if (typeof evaluation["score"] === "number") return evaluation as EvaluationResult;
    throw violation("tasks.grade", "'score' must be a number");
  }

  /**
   * Cancels the session's task, also one that is being started or graded; its clean-up has run when this resolves.
   *
   * @param options A signal that gives up waiting.
   */
  async cancel(options: AbortOptions = {}): Promise<void> {
    await this.#connection.cancel(options);
  }

  /**
   * Asks whether the environment is there; answered at once, also while a call is pending.
   *
   * @param options A signal that gives up waiting.
   */
  async ping(options: AbortOptions = {}): Promise<void> {
    await this.#connection.ping(options);
  }

  /** Makes a call; aborting one that runs task code also tells the environment. */
  async #call(method: string, params: JsonObject, { signal }: AbortOptions, cancels = false): Promise<JsonObject> {
    signal?.throwIfAborted();
    const connection = this.#connection;
    const reply = connection.call(method, params);
    if (!signal) return await reply;
    reply.catch(() => {
      // Looked at below, or of no interest after an abort.
    });
    let giveUp!: () => void;
    const aborted = new Promise<never>((_, reject) => {
      giveUp = () => {
        if (cancels) void connection.cancel({}).catch(() => {});
        reject(signal.reason as Error);
      };
    });
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await Promise.race([reply, aborted]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /**
   * Finds a binding and gives it an address that can be dialled from here: a local forwarder, through which its bytes
   * follow the control port (CLI-2).
   *
   * @param ref The binding's name, its protocol (`"ssh/2"`) or the protocol's family (`"ssh"`).
   * @throws {EnvportError} If none matches (`unknown-binding`) or several do (`ambiguous-binding`); they are listed.
   */
  binding(ref: string): Capability {
    const capability = findBinding(this.bindings, ref);
    const forwarder = this.#forwarders.get(capability.name);
    if (!forwarder) return capability;
    return { ...capability, url: routeUrl(capability.url, { host: "127.0.0.1", port: forwarder.port }) };
  }

  /**
   * Connects to a capability, once: later calls return the same client, which is closed with this one (CLI-4).
   *
   * @param protocol What to speak: `ssh` of `@envport/ssh`, and so on.
   * @param name The binding's name, where the environment has several of the protocol.
   * @param options A signal that gives up.
   * @throws {EnvportError} If no binding matches (`unknown-binding`, `ambiguous-binding`).
   * @throws {TypeError} If the named binding speaks another protocol.
   * @throws What the protocol's client throws, after three tries if the connection failed.
   */
  async open<C extends CapabilityClient>(
    protocol: Protocol<C>,
    name: string = protocol.family,
    options: AbortOptions = {},
  ): Promise<C> {
    const capability = this.binding(name);
    if (protocolFamily(capability.protocol) !== protocol.family) {
      throw new TypeError(
        `Cannot open '${capability.name}' as ${protocol.id}: its protocol is ${capability.protocol}`,
      );
    }
    let opening = this.#opened.get(capability.name) as Promise<C> | undefined;
    if (!opening) {
      opening = this.#connectCapability(protocol, capability, options);
      this.#opened.set(capability.name, opening);
      opening.catch(() => this.#opened.delete(capability.name));
    }
    return await opening;
  }

  async #connectCapability<C extends CapabilityClient>(
    protocol: Protocol<C>,
    capability: Capability,
    { signal }: AbortOptions,
  ): Promise<C> {
    const { name } = capability;
    const published = parseCapabilityUrl(findBinding(this.bindings, name).url);
    const authority = published.port === undefined ? published.host : `${published.host}:${String(published.port)}`;
    this.#refusals.delete(name);
    try {
      return await connectPatiently(() => protocol.connect(capability, { signal, authority }), signal);
    } catch (error) {
      const refusal = this.#refusals.get(name);
      if (!refusal) throw error;
      throw new EnvportError("connection-lost", `Cannot open '${name}' as the environment refused: ${refusal.message}`, {
        cause: refusal,
      });
    }
  }

  /**
   * Connects again to the same session after the control connection was lost (CLI-9): its task and a result that was
   * lost on the way are still there. Forwarders keep their local ports.
   *
   * @param options A signal that gives up.
   * @throws {ProtocolError} If the environment no longer knows the session.
   */
  async resume(options: AbortOptions = {}): Promise<void> {
    if (this.#closing) throw new EnvportError("closed", "Cannot resume as the client was closed");
    this.#connection.abort(new EnvportError("connection-lost", "Cannot go on as the session was resumed elsewhere"));
    this.#connection = await this.#init.reconnect(this.sessionId, options);
    this.#holdsTask = true;
    await this.attach();
  }

  /** Gives the session and its task up, then closes. */
  async bye(): Promise<void> {
    await this.#connection.call("bye", {});
    await this.close();
  }

  /** Closes what was opened, the forwarders and the connection; the task stays parked (CLI-6). Idempotent. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const opened = await Promise.allSettled([...this.#opened.values()]);
    await Promise.allSettled(opened.map(async (result) => result.status === "fulfilled" && result.value.close()));
    await Promise.all([...this.#forwarders.values()].map((forwarder) => forwarder.close()));
    await this.#connection.close();
  }

  /**
   * Ends everything at once; pending calls fail with the reason.
   *
   * @param reason Why.
   */
  abort(reason: EnvportError = new EnvportError("closed", "Cannot go on as the client was aborted")): void {
    this.#connection.abort(reason);
    void this.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function violation(method: string, rule: string): EnvportError {
  return new EnvportError("protocol-violation", `Cannot use the result of ${method} as ${rule}`);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}
