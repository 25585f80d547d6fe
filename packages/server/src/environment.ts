import type { AbortOptions, Capability, PublishedCapability, Service } from "@envport/wire";
import { EnvportError, parseCapabilityUrl, toManifest } from "@envport/wire";
import type { JsonObject } from "@envport/wire";
import { ServiceSet, messageOf, stopOne } from "./_service_set.ts";
import type { Schema } from "./schema.ts";
import type { ArgsOf, ReceivedOf, TemplateBuilder, TemplateOptions } from "./template.ts";
import { Template } from "./template.ts";

/** How an environment introduces itself. */
export interface EnvironmentOptions {
  /** @default {"environment"} */
  name?: string | undefined;
  /** @default {"0.0.1"} */
  version?: string | undefined;
  /** Capabilities of daemons that exist already. */
  capabilities?: readonly Capability[] | undefined;
}

/** Options of {@linkcode Environment.use}. */
export interface UseOptions {
  /** Services that must be up first; those that are not named start side by side. */
  after?: readonly Service[] | undefined;
}

/** Runs before the port opens; its signal aborts when the start is given up. */
export type InitializeHook = (options: AbortOptions) => Promise<void> | void;

/** Runs when serving ends; see {@linkcode Environment.shutdown}. */
export type Hook = () => Promise<void> | void;

/** Runs at a task's end; see {@linkcode Environment.onTaskEnd}. */
export type TaskEndHook = (sessionId: string) => Promise<void> | void;

/**
 * A declaration of what an agent acts on and how that is graded: tasks, services and capabilities. Nothing runs until
 * it is served.
 *
 * @example A task with an argument and a typed answer
 * ```ts
 * import { Environment } from "@envport/server";
 * import { z } from "zod";
 *
 * const env = new Environment({ name: "arithmetic", version: "1.0.0" });
 * env
 *   .template("add", { args: z.object({ a: z.number(), b: z.number().default(1) }), returns: z.number() })
 *   .run(async function* ({ a, b }) {
 *     const answer = yield `What is ${a} + ${b}? Answer with a number.`;
 *     yield answer.content === a + b ? 1 : 0;
 *   });
 * ```
 */
export class Environment {
  /** What clients are told it is called. */
  readonly name: string;
  readonly version: string;
  readonly #templates = new Map<string, Template>();
  readonly #capabilities = new Map<string, PublishedCapability>();
  readonly #services = new ServiceSet();
  readonly #initializers: InitializeHook[] = [];
  readonly #shutdowns: Hook[] = [];
  readonly #taskEndHooks: TaskEndHook[] = [];
  #running: Promise<void> | undefined;
  #stopping: Promise<unknown[]> | undefined;

  /**
   * @param options Its name, version and ready-made capabilities.
   * @throws {TypeError} If a capability is not valid; see {@linkcode Environment.addCapability}.
   */
  constructor(options: EnvironmentOptions = {}) {
    this.name = options.name ?? "environment";
    this.version = options.version ?? "0.0.1";
    for (const capability of options.capabilities ?? []) this.addCapability(capability);
  }

  /** The registered tasks by id, in order of registration. */
  get templates(): ReadonlyMap<string, Template> {
    return this.#templates;
  }

  /** The published capabilities, in order of publication. */
  get capabilities(): readonly PublishedCapability[] {
    return [...this.#capabilities.values()];
  }

  /**
   * Describes a task; `.run(async function* …)` on what it returns gives the task its code and registers it.
   *
   * @param id What clients start it by.
   * @param options Description, arguments, answer type and time-outs.
   * @throws {TypeError} If the id is taken, or a schema cannot be published (when `.run` is called).
   */
  template<A extends Schema | undefined = undefined, R extends Schema | undefined = undefined>(
    id: string,
    options: TemplateOptions<A, R> = {},
  ): TemplateBuilder<ArgsOf<A>, ReceivedOf<R>> {
    return {
      run: (task) => {
        if (this.#templates.has(id)) {
          throw new TypeError(
            `Cannot register task '${id}' as environment '${this.name}' has one of that id`,
          );
        }
        const template = new Template(id, options, task);
        this.#templates.set(id, template);
        return template;
      },
    };
  }

  /**
   * Adds something to run: started before the port opens, its capabilities published, stopped in reverse order.
   *
   * @param service A workspace, a browser, a tool server.
   * @param options What it depends on.
   * @returns The service itself, for tasks to use.
   * @throws {TypeError} If it is in use already, or depends on a service that is not.
   */
  use<S extends Service>(service: S, options: UseOptions = {}): S {
    this.#services.add(service, options.after ?? []);
    return service;
  }

  /**
   * Adds a hook that runs after the services have started and before the port opens: seed state, start a daemon and
   * publish it with {@linkcode Environment.addCapability}.
   *
   * @param hook Runs once each time the environment is started.
   */
  initialize(hook: InitializeHook): void {
    this.#initializers.push(hook);
  }

  /**
   * Adds a hook that runs when serving ends, in reverse order of registration, before the services are stopped.
   *
   * @param hook Its failure is reported and keeps nothing else from stopping.
   */
  shutdown(hook: Hook): void {
    this.#shutdowns.push(hook);
  }

  /**
   * Adds a hook that runs at the end of each task whose code has begun: graded, cancelled, failed or expired (TASK-6).
   *
   * @param hook Gets the id of the session that started the task.
   */
  onTaskEnd(hook: TaskEndHook): void {
    this.#taskEndHooks.push(hook);
  }

  /**
   * Publishes a capability; one of the same name is replaced.
   *
   * @param capability Name, protocol, url and params, as a protocol package's factory makes them.
   * @throws {TypeError} If a member is missing or malformed.
   */
  addCapability(capability: PublishedCapability): void {
    const { name, protocol, url } = capability;
    if (!name || !protocol) {
      throw new TypeError(
        `Cannot publish capability as it must have a name and a protocol: current value is ${JSON.stringify({ name, protocol })}`,
      );
    }
    if (!url) {
      throw new TypeError(
        `Cannot publish capability '${name}' as it has no url: start its daemon in an initialize hook and publish the address then`,
      );
    }
    parseCapabilityUrl(url);
    this.#capabilities.set(name, capability);
  }

  /**
   * Looks up a published capability.
   *
   * @param name Its name.
   * @throws {EnvportError} If there is none of that name (`unknown-binding`).
   */
  capability(name: string): PublishedCapability {
    const capability = this.#capabilities.get(name);
    if (capability) return capability;
    const known = [...this.#capabilities.keys()].join(", ") || "none";
    throw new EnvportError("unknown-binding", `Cannot find capability '${name}': published are ${known}`);
  }

  /** Why the daemon behind a capability is gone, or undefined if it is not known to be. */
  downReason(name: string): string | undefined {
    return this.#services.downReason(name);
  }

  /**
   * The capabilities as `hello` publishes them.
   *
   * @param isListed Which ones.
   */
  toBindings(isListed: (capability: Capability) => boolean = () => true): JsonObject[] {
    return this.capabilities.filter(isListed).map(toManifest);
  }

  /**
   * Starts the services and runs the `initialize` hooks; `serve` calls it. Idempotent until {@linkcode Environment.stop}.
   *
   * @param options A signal that gives up; what had started is stopped again.
   * @throws {EnvportError} If a service or hook failed (`service-failed`), naming it; what had started is stopped again.
   */
  start(options: AbortOptions = {}): Promise<void> {
    return (this.#running ??= this.#startAll(options));
  }

  async #startAll({ signal }: AbortOptions): Promise<void> {
    await this.#stopping;
    try {
      for (const capability of await this.#services.start({ signal })) this.addCapability(capability);
      for (const [index, hook] of this.#initializers.entries()) {
        signal?.throwIfAborted();
        await this.#initialize(hook, index, { signal });
      }
      signal?.throwIfAborted();
    } catch (error) {
      const failures = await this.stop();
      if (failures.length === 0) throw error;
      const message = `${messageOf(error)}; what had started did not stop cleanly: ${failures.map(messageOf).join("; ")}`;
      throw new EnvportError("service-failed", message, { cause: new AggregateError([error, ...failures]) });
    }
  }

  async #initialize(hook: InitializeHook, index: number, options: AbortOptions): Promise<void> {
    try {
      await hook(options);
    } catch (error) {
      options.signal?.throwIfAborted();
      const name = hook.name || `number ${String(index + 1)}`;
      throw new EnvportError(
        "service-failed",
        `Cannot start environment '${this.name}' as its initialize hook ${name} failed: ${messageOf(error)}`,
        { cause: error },
      );
    }
  }

  /**
   * Runs the `shutdown` hooks in reverse order and stops the services. Idempotent; it never fails: what a hook or
   * service throws is returned.
   *
   * @returns The failures, for the log.
   */
  stop(): Promise<unknown[]> {
    this.#stopping ??= this.#stopAll().finally(() => (this.#stopping = undefined));
    return this.#stopping;
  }

  async #stopAll(): Promise<unknown[]> {
    if (!this.#running) return [];
    this.#running = undefined;
    const failures: unknown[] = [];
    for (const hook of this.#shutdowns.toReversed()) {
      failures.push(...(await stopOne(`shutdown hook ${hook.name || "without a name"}`, hook)));
    }
    const { failures: more, published } = await this.#services.stop();
    for (const name of published) this.#capabilities.delete(name);
    return [...failures, ...more];
  }

  /**
   * Runs the task-end hooks; `serve` calls it.
   *
   * @param sessionId The session that started the task.
   * @returns The failures, for the log.
   */
  async runTaskEndHooks(sessionId: string): Promise<unknown[]> {
    const failures: unknown[] = [];
    for (const hook of this.#taskEndHooks) {
      try {
        await hook(sessionId);
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }
}
