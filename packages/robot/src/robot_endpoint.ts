import { EnvportError, ProtocolError } from "@envport/wire";
import type { AbortOptions, JsonObject, PublishedCapability, Service } from "@envport/wire";
import { startLocalSim } from "./_local_sim.ts";
import { pause } from "./_pause.ts";
import { connectToSim, RemoteSim } from "./_remote_sim.ts";
import type { Sim, StartSim } from "./_sim.ts";
import { spawnSim, spawnWorkerSim } from "./_spawn_sim.ts";
import type { RobotBridge, RobotGrade } from "./robot_bridge.ts";
import type {
  RobotAttachOptions,
  RobotEndpointOptions,
  RobotEpisode,
  RobotLocalOptions,
  RobotResetOptions,
  RobotSpawnOptions,
  RobotWorkerOptions,
} from "./robot_endpoint_options.ts";

/** How often a claim is tried while all slots are taken, in milliseconds. */
const RETRY_MS = 50;
/** How long giving the slots up may take when it stops, in milliseconds. */
const RELEASE_MS = 500;
/** A simulator may have a world to load. */
const CONNECT_MS = 900_000;

/**
 * An environment's handle on a simulator: it publishes it, begins episodes and grades them. The simulator is in this process,
 * in a process or worker that the endpoint starts and ends, or one that somebody else runs; the methods are the same.
 *
 * Each episode has a token, by which its agent finds the slot. Give it to the task's agent with the prompt, and name the session
 * so that a task that is cancelled gives its slot up.
 *
 * @example
 * ```ts
 * import { NdArray, RobotClient, RobotEndpoint } from "@envport/robot";
 * import type { RobotBridge } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * let position = 0;
 * const bridge: RobotBridge = {
 *   contract: () => ({ features: { x: { role: "observation" }, action: { role: "action", names: ["dx"] } } }),
 *   reset: () => ((position = 0), "Go to 3."),
 *   step: (actions) => void (position += actions.data[0]!),
 *   observe: () => [
 *     { data: { x: new NdArray(Float32Array.of(position)) }, terminated: position >= 3, success: position === 3 },
 *   ],
 * };
 * await using endpoint = new RobotEndpoint(bridge, { port: 0 });
 * const [capability] = await endpoint.start();
 * const { token } = await endpoint.reset();
 * await using client = await RobotClient.connect(capability!, { token });
 * assert.equal((await client.run(() => [1])).steps, 3);
 * assert.equal((await endpoint.result(token)).score, 1);
 * ```
 */
export class RobotEndpoint implements Service, AsyncDisposable {
  readonly #options: RobotEndpointOptions;
  readonly #start: StartSim;
  /** Tokens by the session whose task has them. */
  readonly #claims = new Map<string, Set<string>>();
  #starting: Promise<{ sim: Sim; capabilities: PublishedCapability[] }> | undefined;
  #sim: Sim | undefined;
  #stopping: Promise<void> | undefined;

  /**
   * A simulator in this process. A step that takes long holds up everything else in it.
   *
   * @param bridge The simulator.
   * @param options Where to listen, and how to treat agents.
   */
  constructor(bridge: RobotBridge, options?: RobotLocalOptions);
  /** @internal */
  constructor(start: StartSim, options?: RobotEndpointOptions);
  constructor(bridge: RobotBridge | StartSim, options: RobotLocalOptions = {}) {
    this.#options = options;
    this.#start = typeof bridge === "function" ? bridge : () => startLocalSim(bridge, options);
  }

  /**
   * A simulator in a process that the endpoint starts, and ends with everything it started. The program calls
   * {@linkcode serveBridge}, or is a bridge of a peer: `["python", "-m", "hud.environment.robot.gym", "CartPole-v1"]`.
   *
   * @param command The program and its arguments.
   * @param options Its folder and variables, and how long it may take.
   */
  static spawn(command: readonly string[], options: RobotSpawnOptions = {}): RobotEndpoint {
    if (command.length === 0) throw new TypeError("Cannot start simulator as its command must not be empty");
    return new RobotEndpoint(({ signal }) => spawnSim(command, { ...patience(options), signal }), options);
  }

  /**
   * A simulator in a worker thread. Its module calls {@linkcode serveBridge}.
   *
   * @param url The module.
   * @param options What the worker gets, and how long it may take.
   */
  static worker(url: URL, options: RobotWorkerOptions = {}): RobotEndpoint {
    return new RobotEndpoint(({ signal }) => spawnWorkerSim(url, { ...patience(options), signal }), options);
  }

  /**
   * A simulator that somebody else runs; stopping gives its slots up and leaves it alone.
   *
   * @param address Its control channel.
   * @param options How long to wait for it.
   */
  static attach(address: { host: string; port: number }, options: RobotAttachOptions = {}): RobotEndpoint {
    return new RobotEndpoint(async ({ signal }) => {
      const rpc = await connectToSim(address, { timeout: options.connectTimeout ?? CONNECT_MS, signal });
      return new RemoteSim(
        rpc,
        (capability) => seenFrom(address.host, capability),
        () => Promise.resolve(),
      );
    }, options);
  }

  /** What errors and logs call it. */
  get name(): string {
    return `robot '${this.#options.name ?? "robot"}'`;
  }

  /** Resolves when the simulator of the latest start is gone: to undefined after a `stop`, else to the reason. */
  get closed(): Promise<Error | undefined> {
    return this.#sim?.closed ?? Promise.resolve(undefined);
  }

  /**
   * Starts the simulator, or connects to it. Idempotent.
   *
   * @returns What it serves: the robot, and whatever else a peer's bridge does.
   * @throws {EnvportError} `service-failed`, `not-ready`, `address-in-use`
   * @throws {TypeError} If the contract breaks a rule.
   */
  async start({ signal }: AbortOptions = {}): Promise<readonly PublishedCapability[]> {
    await this.#stopping;
    this.#starting ??= this.#begin(signal);
    try {
      const { sim, capabilities } = await this.#starting;
      this.#sim = sim;
      return capabilities;
    } catch (error) {
      this.#starting = undefined;
      throw error;
    }
  }

  /** Gives all slots up, and ends what it started. Idempotent; it may be started again. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#end().finally(() => (this.#stopping = undefined));
    await this.#stopping;
  }

  /** The same as `stop`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Begins an episode: claims a slot, and resets the simulator if it is the first claim of a batch. While all slots are taken,
   * it waits.
   *
   * @param args What the simulator is told, such as `seed`. All slots of a batch share them.
   * @param options The session whose task it is, and a signal that gives up.
   * @throws {ProtocolError} If the simulator cannot be reset, or another batch with other arguments is under way.
   * @throws {EnvportError} `closed` If it is not started; `connection-lost`
   */
  async reset(args: JsonObject = {}, { session, signal }: RobotResetOptions = {}): Promise<RobotEpisode> {
    const { token, prompt } = await this.#claim(args, signal);
    if (session !== undefined) {
      const tokens = this.#claims.get(session) ?? new Set();
      this.#claims.set(session, tokens.add(token));
    }
    const name = this.#options.name ?? "robot";
    return { token, prompt, frame: { prompt, bindings: { [name]: { token } } } };
  }

  /**
   * How the episode went; its slot is free then, and its agent is sent away.
   *
   * @param token The episode's; without one, that of the only slot that is claimed.
   * @returns The members that the simulator says, as an evaluation for the task to yield.
   * @throws {ProtocolError} If there is no such episode.
   */
  async result(token?: string): Promise<RobotGrade> {
    const grade = await this.#live.result(token ?? null);
    for (const tokens of this.#claims.values()) if (token !== undefined) tokens.delete(token);
    return grade;
  }

  /**
   * Gives the slots up that a session's task still has. For `env.onTaskEnd`, so that a task that is cancelled leaves none.
   *
   * @param session What was given to `reset`.
   */
  async release(session: string): Promise<void> {
    const tokens = this.#claims.get(session) ?? [];
    this.#claims.delete(session);
    const sim = this.#sim;
    // A slot that was graded without its token is no more: that is as good.
    if (sim) await Promise.allSettled([...tokens].map((token) => sim.release(token)));
  }

  get #live(): Sim {
    if (this.#sim && this.#starting) return this.#sim;
    throw new EnvportError(
      "closed",
      `Cannot use ${this.name} as it must be started: current value is 'idle'`,
    );
  }

  async #claim(
    args: JsonObject,
    signal: AbortSignal | undefined,
  ): Promise<{ token: string; prompt: string }> {
    for (;;) {
      signal?.throwIfAborted();
      const sim = this.#live;
      const claim = sim.reset(args);
      try {
        return await unlessAborted(
          claim,
          signal,
          ({ token }) => void sim.release(token).catch(() => undefined),
        );
      } catch (error) {
        if (!(error instanceof ProtocolError) || !error.message.includes("slots are claimed")) throw error;
      }
      await pause(RETRY_MS, signal);
    }
  }

  async #begin(signal: AbortSignal | undefined): Promise<{ sim: Sim; capabilities: PublishedCapability[] }> {
    const sim = await this.#start({ signal });
    try {
      return { sim, capabilities: await sim.capabilities(this.#options.name ?? "robot") };
    } catch (error) {
      await sim.stop();
      throw error;
    }
  }

  async #end(): Promise<void> {
    const started = await this.#starting?.catch(() => undefined);
    const late = new Promise((resolve) => setTimeout(resolve, RELEASE_MS).unref());
    await Promise.race([Promise.all([...this.#claims.keys()].map((session) => this.release(session))), late]);
    this.#starting = undefined;
    await started?.sim.stop();
  }
}

/** Gives up waiting with the signal; what comes all the same is given back. */
async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  giveBack: (value: T) => void,
): Promise<T> {
  if (!signal) return await work;
  return await new Promise<T>((resolve, reject) => {
    const giveUp = (): void => {
      reject(signal.reason as Error);
      work.then(giveBack, () => undefined);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}

function patience(options: RobotSpawnOptions & RobotWorkerOptions): RobotSpawnOptions & {
  connectTimeout: number;
  onLine: (line: string) => void;
} {
  return {
    ...options,
    connectTimeout: options.connectTimeout ?? CONNECT_MS,
    onLine: options.onLine ?? ((line) => process.stderr.write(`${line}\n`)),
  };
}

/** A bridge elsewhere publishes its own loopback: from here it is at the address of its control channel. */
function seenFrom(host: string, capability: PublishedCapability): PublishedCapability {
  const { hostname, port } = new URL(capability.url);
  const isLoopback = (name: string): boolean => /^(?:127\.|0\.0\.0\.0$|localhost$|\[?::1?\]?$)/.test(name);
  if (!isLoopback(hostname) || isLoopback(host) || port === "") return capability;
  return { ...capability, dial: { host, port: Number(port) } };
}
