import { EventEmitter } from "node:events";
import type {
  AbortOptions,
  ByteStream,
  Capability,
  CapabilityClient,
  JsonObject,
  Protocol,
} from "@envport/wire";
import { EnvportError, parseCapabilityUrl, protocolFamily } from "@envport/wire";
import { findBinding, findBindingOfFamily } from "./_bindings.ts";
import type { ClientInit } from "./_client_init.ts";
import type { ControlConnection } from "./_control_connection.ts";
import { hostAndPort } from "./_host_and_port.ts";
import { OpenedClients } from "./_opened_clients.ts";
import { Routes } from "./_routes.ts";
import { SessionTasks } from "./_session_tasks.ts";
import { SharedAttempt } from "./_shared_attempt.ts";
import type { Manifest } from "./manifest.ts";
import type { EvaluationResult, GradeOptions, Task, TaskInfo } from "./task.ts";

/** How long capability clients have to close in good order, in milliseconds. */
const CLOSE_CLIENTS_MS = 5_000;

/** What a client tells without being asked. */
export interface ClientEvents {
  /** A forwarder's tunnel was refused; its local connection was reset (CLI-8). */
  "tunnel:refused": [event: { binding: string; error: Error }];
  /** A heartbeat was not answered; the connection has been ended (CLI-7). */
  "heartbeat:failed": [event: { error: EnvportError }];
}

/**
 * A connection to a served environment: one session, its task, and the capabilities that it can open. `connect` makes
 * one.
 *
 * ```text
 * connected ── the connection is lost ──▶ lost ── resume() ──▶ connected
 *     └───────────────────────────────────┴── close(), bye(), abort() ──▶ closed
 * ```
 *
 * Closing it leaves the task parked in the environment (CLI-6); {@linkcode Client.bye} gives it up.
 *
 * @example Another client grades what the first one started
 * ```ts
 * import { connect } from "@envport/client";
 * import { Environment, serve } from "@envport/server";
 * import assert from "node:assert/strict";
 *
 * const env = new Environment({ name: "quiz" });
 * env.template("capital").run(async function* () {
 *   yield (yield "What is the capital of Norway?") === "Oslo" ? 1 : 0;
 * });
 * await using server = await serve(env);
 *
 * const first = await connect(server.url);
 * await first.start("capital");
 * await first.close();
 *
 * await using second = await connect(server.url, { sessionId: first.sessionId });
 * assert.equal((await second.grade("Oslo")).score, 1);
 * ```
 */
export class Client extends EventEmitter<ClientEvents> {
  readonly #init: ClientInit;
  readonly #routes: Routes;
  readonly #opened = new OpenedClients();
  readonly #tasks: SessionTasks;
  readonly #aborted = new AbortController();
  #connection: ControlConnection;
  #resuming: SharedAttempt<void> | undefined;
  #closing: Promise<void> | undefined;

  private constructor(init: ClientInit, connection: ControlConnection) {
    super();
    this.#init = init;
    this.#connection = connection;
    this.#tasks = new SessionTasks(() => this.#live(), init.resumed);
    this.#routes = new Routes({
      endpoint: init.endpoint,
      direct: init.route === "direct",
      onRefused: (binding, error) => {
        init.logger.log("warn", `a tunnel to '${binding}' was refused`, { reason: error.message });
        this.emit("tunnel:refused", { binding, error });
      },
    });
  }

  /** @internal */
  static async attach(init: ClientInit, connection: ControlConnection): Promise<Client> {
    const client = new Client(init, connection);
    try {
      await client.#attach(connection);
      return client;
    } catch (error) {
      client.abort();
      throw error;
    }
  }

  /** Begins to speak over a connection: the forwarders come up first. */
  async #attach(connection: ControlConnection, signal?: AbortSignal): Promise<void> {
    await this.#routes.update(connection.manifest.bindings);
    signal?.throwIfAborted();
    this.#connection = connection;
    const { heartbeatInterval, logger } = this.#init;
    if (heartbeatInterval === 0) return;
    connection.startHeartbeat(heartbeatInterval, (error) => {
      logger.log("warn", error.message, { url: this.url });
      this.emit("heartbeat:failed", { error });
    });
  }

  /** The control port: `tcp://127.0.0.1:8765`. */
  get url(): string {
    return this.#init.endpoint.url;
  }

  /** What the environment said in its latest reply to `hello`. */
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

  /**
   * Resolves to the reason when the control connection has ended: `closed` if this side ended it, `connection-lost` or
   * `protocol-violation` if not. It is about the connection of now: read it again after a {@linkcode Client.resume}.
   */
  get closed(): Promise<EnvportError> {
    return this.#connection.closed;
  }

  /**
   * Lists the environment's tasks.
   *
   * @param options A signal that gives up.
   * @throws {EnvportError} If the reply has another shape than the contract says (`protocol-violation`).
   */
  tasks(options: AbortOptions = {}): Promise<TaskInfo[]> {
    return this.#tasks.list(options);
  }

  /**
   * Starts a task; an earlier one of this session is given up, also if this start fails.
   *
   * @param id One of the environment's tasks.
   * @param args Its arguments.
   * @param options A signal that cancels the start.
   * @throws {ProtocolError} If there is no such task, the arguments do not validate, or the task throws.
   * @throws {EnvportError} If the arguments are over the frame limit (`frame-too-large`), or the connection was lost
   *   (`connection-lost`): `resume()` and start again.
   * @throws {TypeError} If the arguments hold what JSON cannot say.
   */
  start(id: string, args: JsonObject = {}, options: AbortOptions = {}): Promise<Task> {
    return this.#tasks.start(id, args, options);
  }

  /**
   * Grades the task of this session: one that it started, or that an earlier connection of it did.
   *
   * @param answer A string, or any JSON value that the task expects; undefined for none.
   * @param options A signal that cancels the grade. `adopt` allows a session without a task of its own to grade the only
   *   parked one, which may be anybody's (SESS-5).
   * @throws {EnvportError} If the session holds no task and `adopt` is not set (`no-task`), or as {@linkcode Task.grade}.
   * @throws {ProtocolError} If the task throws, or the environment has none to grade.
   */
  grade(answer?: unknown, options: GradeOptions & { adopt?: boolean } = {}): Promise<EvaluationResult> {
    return this.#tasks.grade(answer, options);
  }

  /**
   * Cancels the session's task, also one that is being started or graded, and the starts and grades that wait; its
   * clean-up has run when this resolves. Their errors come first (CLI-5).
   *
   * @param options A signal that gives up waiting.
   */
  cancel(options: AbortOptions = {}): Promise<void> {
    return this.#tasks.cancel(options);
  }

  /**
   * Asks whether the environment is there; answered at once, also while a call is pending.
   *
   * @param options A signal that gives up waiting.
   * @throws {EnvportError} If the connection was lost (`connection-lost`).
   */
  async ping(options: AbortOptions = {}): Promise<void> {
    await this.#live().ping(options);
  }

  /**
   * Finds a binding and gives it an address that can be dialled from here: a local forwarder, through which its bytes
   * follow the control port (CLI-2).
   *
   * @param ref The binding's name, else its protocol (`"ssh/2"`) or the protocol's family (`"ssh"`).
   * @throws {EnvportError} If none matches (`unknown-binding`) or several do (`ambiguous-binding`); they are listed.
   * @throws {TypeError} If the environment published a url that cannot be read.
   */
  binding(ref: string): Capability {
    this.#live();
    return this.#routes.route(findBinding(this.bindings, ref));
  }

  /**
   * Connects to a capability, once: later calls return the same client, which is closed with this one (CLI-4).
   *
   * @param protocol What to speak: `ssh` of `@envport/ssh`, and so on.
   * @param name The binding's name, where the environment has several of the protocol.
   * @param options A signal that gives up.
   * @throws {EnvportError} If no binding matches (`unknown-binding`, `ambiguous-binding`), or the environment refuses the
   *   tunnel (`connection-lost`, with the reason).
   * @throws {TypeError} If the named binding speaks another protocol.
   * @throws What the protocol's client throws, after three tries if the connection failed.
   */
  async open<C extends CapabilityClient>(
    protocol: Protocol<C>,
    name?: string,
    options: AbortOptions = {},
  ): Promise<C> {
    this.#live();
    const { family, id } = protocol;
    const published =
      name === undefined ? findBindingOfFamily(this.bindings, family) : findBinding(this.bindings, name);
    if (protocolFamily(published.protocol) !== family) {
      throw new TypeError(
        `Cannot open '${published.name}' as ${id}: its protocol is ${JSON.stringify(published.protocol)}`,
      );
    }
    const connect = (signal: AbortSignal): Promise<C> =>
      this.#routes.explain(published.name, () => {
        const routed = this.#routes.route(published);
        if (!this.#routes.has(published)) return protocol.connect(routed, { signal });
        const authority = hostAndPort(parseCapabilityUrl(published.url));
        const dial = (abort?: AbortOptions): Promise<ByteStream> => this.#routes.dial(published.name, abort);
        return protocol.connect(routed, { signal, authority, dial });
      });
    return await this.#opened.open(protocol, published.name, connect, options);
  }

  /**
   * Connects again to the same session after the control connection was lost (CLI-9): its task and a result that was
   * lost on the way are still there. Forwarders keep their local ports. It waits until the environment answers, as
   * `connect` does; calls that are pending fail. Who resumes while another resume is under way waits for that one.
   *
   * @param options A signal that gives up.
   * @throws {ProtocolError} If the environment no longer knows the session.
   * @throws {EnvportError} If nothing answers in time (`not-ready`), or the client is closed (`closed`).
   */
  async resume(options: AbortOptions = {}): Promise<void> {
    this.#live();
    options.signal?.throwIfAborted();
    if (!this.#resuming || this.#resuming.abandoned) {
      const attempt = new SharedAttempt((signal) => this.#resume(signal));
      const done = (): void => {
        if (this.#resuming === attempt) this.#resuming = undefined;
      };
      this.#resuming = attempt;
      attempt.result.then(done, done);
    }
    await this.#resuming.wait(options.signal);
  }

  async #resume(signal: AbortSignal): Promise<void> {
    this.#connection.abort(
      new EnvportError("connection-lost", "Cannot go on as the session is being resumed"),
    );
    const connection = await this.#init.reconnect(this.sessionId, signal);
    try {
      await this.#attach(connection, signal);
    } catch (error) {
      connection.abort(new EnvportError("closed", "Cannot go on as the resume was given up"));
      throw error;
    }
  }

  /**
   * Gives the session and its task up, then closes, whether or not the environment could be told.
   *
   * @param options A signal that gives up waiting.
   * @throws {EnvportError} If the environment could not be told (`connection-lost`): the task may be parked.
   */
  async bye(options: AbortOptions = {}): Promise<void> {
    try {
      await this.#live().inTurn((call) => call("bye", {}), options);
    } finally {
      await this.close();
    }
  }

  /** Closes what was opened, the forwarders and the connection; the task stays parked (CLI-6). Idempotent. */
  close(): Promise<void> {
    const reason = new EnvportError("closed", "Cannot go on as the client was closed");
    return (this.#closing ??= this.#close(reason));
  }

  async #close(reason: EnvportError): Promise<void> {
    this.#resuming?.abandon(reason);
    await this.#opened.close(reason, { timeout: CLOSE_CLIENTS_MS, signal: this.#aborted.signal });
    await this.#routes.close();
    await this.#connection.close();
  }

  /**
   * Ends everything at once; pending calls fail with the reason.
   *
   * @param reason Why.
   */
  abort(reason: EnvportError = new EnvportError("closed", "Cannot go on as the client was aborted")): void {
    this.#connection.abort(reason);
    this.#aborted.abort();
    this.#closing ??= this.#close(reason);
  }

  /** The same as {@linkcode Client.close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The connection of now, of a client that has not been closed. */
  #live(): ControlConnection {
    if (this.#closing) throw new EnvportError("closed", "Cannot go on as the client was closed");
    return this.#connection;
  }
}
